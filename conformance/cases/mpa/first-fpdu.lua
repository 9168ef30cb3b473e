-- SPDX-License-Identifier: BSD-3-Clause

-- Field bug (CVE-2026-23242): an error in the very first FPDU of a connection used a context that did
-- not exist yet. OP-12: a responder may answer with the Terminate or just close.
local mpa = use "mpa"

local faults = {
  { name = "crc", text = "a wrong CRC", fault = fault.crc, message = write {}, bend = { crc = "bad" }, rule = "MPA-8-02" },
  { name = "ddp-version-tagged", text = "DDP version 3 in a tagged segment", fault = fault.tagged_version,
    message = write { dv = 3 }, rule = "DDP-7.1-15" },
  { name = "ddp-version-untagged", text = "DDP version 2 in an untagged segment", fault = fault.untagged_version,
    message = send { dv = 2 }, rule = "DDP-7.1-16" },
  { name = "rdmap-version", text = "RDMAP version 3", fault = fault.rdmap_version, message = send { rv = 3 }, rule = "RDMAP-7.2-03" },
  { name = "opcode", text = "opcode 12, which is not assigned", fault = fault.opcode, message = send { opcode = 12 },
    rule = "RDMAP-7.2-02" },
  { name = "opcode-tagged", text = "a tagged Send", fault = fault.send_with_t,
    message = send { t = true, stag = 0, payload = "x" },
    rule = "RDMAP-7.2-02", others = { "RDMAP-4.1-05" } },
  { name = "queue", text = "queue 9", fault = fault.invalid_queue, message = send { qn = 9, payload = "x" }, rule = "DDP-7.1-01" },
  { name = "msn", text = "MSN 7", fault = fault.invalid_msn, message = send { msn = 7, payload = "x" }, rule = "DDP-7.1-09" },
  { name = "stag", text = "a Write to an STag that is not valid", fault = fault.invalid_stag,
    message = write { stag = 0xdeadbeef, payload = "x" }, rule = "DDP-7.1-10" },
  { name = "response", text = "a Read Response that answers nothing", fault = fault.unasked_response_nowhere,
    message = read_response { stag = 1, payload = "x", broken = true }, rule = "RDMAP-5.2.2-04" },
}

return family {
  each(faults, function(one)
    return both_roles {
      id = "mpa-first-fpdu-" .. one.name,
      purpose = ("A connection whose first FPDU has %s ends with the right Terminate, or a close"):format(one.text),
      rules = { one.rule, "MPA-7.1.2-16", table.unpack(one.others or {}) },
      tags = { "field" },
      run = function(t)
        local conn = t:session { crc = true }
        conn:send(one.message, one.bend)
        conn:expect(one.fault, closed())
      end,
    }
  end),

  both_roles {
    id = "mpa-first-fpdu-short",
    purpose = "A connection whose first FPDU is shorter than any header ends",
    rules = { "DDP-4.4-02", "MPA-7.1.2-16" },
    tags = { "field" },
    run = function(t)
      local conn = t:session {}
      conn:send(raw { ulpdu = hex "4143 0000" }, { broken = true })
      conn:send(write {}, { broken = true })
      conn:expect(terminate {}, closed())
    end,
  },

  both_roles {
    id = "mpa-first-fpdu-cut",
    purpose = "A connection that ends inside its first FPDU does no harm",
    rules = { "MPA-8-01", "MPA-6-05" },
    tags = { "field" },
    run = function(t)
      for _, size in ipairs { 1, 2, 3, 15, 16, 17, 19 } do
        local conn = t:session {}
        conn:write(mpa.fpdu(conn, conn:encode(write {})[1].ulpdu).octets:sub(1, size), { comment = "a first FPDU, cut short" })
        conn:shutdown()
        conn:expect_close {}
      end
    end,
  },
}
