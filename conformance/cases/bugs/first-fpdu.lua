-- SPDX-License-Identifier: BSD-3-Clause

-- A fault in the very first FPDU: what serves a stream is not set up yet in some stacks, and they
-- crash. It ends the stream like any other fault, and the target lives on for the next connection.

local seen = use "seen"

-- name, text, needs, codes, stimulus(t, conn)
local faults = {
  { "ddp-version-tagged", "a DDP version that was not agreed, T=1", nil, { "1/1/04" }, function(_, conn)
    return conn:send(write { dv = 2 })
  end },
  { "ddp-version-untagged", "a DDP version that was not agreed, T=0", nil, { "1/2/06" }, function(_, conn)
    return conn:send(read_request { dv = 3, size = 0 })
  end },
  { "rdmap-version-tagged", "an RDMAP version that was not agreed, T=1", nil, { "0/2/05" }, function(_, conn)
    return conn:send(write { rv = 2 })
  end },
  { "rdmap-version-untagged", "an RDMAP version that was not agreed, T=0", { agent = true }, { "0/2/05" }, function(t, conn)
    t:receive { length = 8 }
    return conn:send(send { rv = 3, payload = bytes(8) })
  end },
  { "opcode-tagged", "an opcode that is not assigned, T=1", nil, { "0/2/06" }, function(_, conn)
    return conn:send(write { opcode = 0xf, stag = 1, payload = bytes(8) })
  end },
  { "opcode-untagged", "an opcode that is not assigned, T=0", { agent = true }, { "0/2/06" }, function(t, conn)
    t:receive { length = 8 }
    return conn:send(send { opcode = 0xc, payload = bytes(8) })
  end },
  { "queue", "a queue that there is none of", nil, { "1/2/01", "0/2/06" }, function(_, conn)
    return conn:send(send { qn = 0x80000000, payload = bytes(8) })
  end },
  { "stag", "an STag that is not valid", nil, { "1/1/00", "1/1/02" }, function(_, conn)
    return conn:send(write { stag = 0x5bad57a6, payload = bytes(8) })
  end },
  { "no-buffer", "a Send for which no buffer is posted", { agent = true }, { "1/2/02", "1/2/03" }, function(_, conn)
    return conn:send(send { payload = bytes(8) })
  end },
  { "read-stag", "a Read of an STag that is not valid", nil, { "0/1/00", "0/1/03" }, function(_, conn)
    conn:need_reads()
    return conn:send(read_request { size = 8, source_stag = 0x5bad57a6 })
  end },
  { "response", "a Read Response that nobody asked for", nil, { "0/2/06", "1/1/00", "0/1/00", "1/1/02" }, function(_, conn)
    return conn:send(read_response { stag = 0x5bad57a6, payload = bytes(8), broken = true, comment = "no Read was asked for" })
  end },
}

local list = {}
for _, one in ipairs(faults) do
  local name, text, needs, codes, stimulus = table.unpack(one, 1, 5)
  list[#list + 1] = both_roles {
    id = "bug-first-fpdu-crash-" .. name,
    purpose = ("%s in the first FPDU ends the stream, and the target lives on"):format(text:sub(1, 1):upper() .. text:sub(2)),
    rules = { "RDMAP-7.1-03", "DDP-7.1-17", "RDMAP-5.4-08" },
    needs = needs,
    tags = { "known-bug", "field" },
    run = function(t)
      local conn = t:session {}
      local sent = stimulus(t, conn)
      conn:expect_terminate { codes[1], codes[2], codes[3], codes[4], of = sent }
      seen.over(conn)
    end,
  }
end

-- The same without anything to answer with: a Terminate, a close, or both.
list[#list + 1] = both_roles {
  id = "bug-first-fpdu-crash-terminate",
  purpose = "A first FPDU that is a Terminate, good or not, ends the stream, and the target lives on",
  rules = { "RDMAP-5.4-05", "RDMAP-5.4-07" },
  needs = { reconnect = true },
  tags = { "known-bug", "field" },
  run = function(t)
    for _, payload in ipairs { hex "20050000", hex "0000", hex "1101c000", "" } do
      local conn = t:session {}
      conn:send(terminate { payload = payload, broken = #payload ~= 4, comment = ("a Terminate of %d octets"):format(#payload) })
      seen.over(conn, closed(), terminate {})
    end
  end,
}
return list
