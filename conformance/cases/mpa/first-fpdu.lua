-- SPDX-License-Identifier: BSD-3-Clause

-- Field bug (CVE-2026-23242): an error in the very first FPDU of a connection used a context that did
-- not exist yet. OP-12: a responder may answer with the Terminate or just close.
local mpa = use "mpa"

local faults = {
  { "crc", "a wrong CRC", { "2/0/02" }, write {}, { crc = "bad" }, "MPA-8-02" },
  { "ddp-version-tagged", "DDP version 3 in a tagged segment", { "1/1/04" }, write { dv = 3 }, nil, "DDP-7.1-15" },
  { "ddp-version-untagged", "DDP version 2 in an untagged segment", { "1/2/06" }, send { dv = 2 }, nil, "DDP-7.1-16" },
  { "rdmap-version", "RDMAP version 3", { "0/2/05" }, send { rv = 3 }, nil, "RDMAP-7.2-03" },
  { "opcode", "opcode 12, which is not assigned", { "0/2/06" }, send { opcode = 12 }, nil, "RDMAP-7.2-02" },
  { "opcode-tagged", "a tagged Send", { "0/2/06", "1/1/00", "1/2/01" }, send { t = true, stag = 0, payload = "x" }, nil,
    "RDMAP-4.1-05" },
  { "queue", "queue 9", { "1/2/01", "0/2/06" }, send { qn = 9, payload = "x" }, nil, "DDP-7.1-01" },
  { "msn", "MSN 7", { "1/2/03", "1/2/02" }, send { msn = 7, payload = "x" }, nil, "DDP-7.1-09" },
  { "stag", "a Write to an STag that is not valid", { "1/1/00", "1/1/02" },
    write { stag = 0xdeadbeef, payload = "x" }, nil, "DDP-7.1-10" },
  { "response", "a Read Response that answers nothing", { "0/2/06", "1/1/00" },
    read_response { stag = 1, payload = "x", broken = true }, nil, "RDMAP-5.2.2-04" },
}

return family {
  each(faults, function(one)
    return both_roles {
      id = "mpa-first-fpdu-" .. one[1],
      purpose = ("A connection whose first FPDU has %s ends with the right Terminate, or a close"):format(one[2]),
      rules = { one[6], "MPA-7.1.2-16" },
      tags = { "field" },
      run = function(t)
        local conn = t:session { crc = true }
        conn:send(one[4], one[5])
        local set = {}
        for i, code in ipairs(one[3]) do set[i] = terminate(code) end
        set[#set + 1] = closed()
        conn:expect(table.unpack(set))
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
