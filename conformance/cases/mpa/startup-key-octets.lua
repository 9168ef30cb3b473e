-- SPDX-License-Identifier: BSD-3-Clause

-- One wrong bit of the key, in each of its 16 octets. Both roles: as responder the target judges the
-- key of a Request, as initiator that of a Reply.
local mpa = use "mpa"

local REQUEST, REPLY = "MPA ID Req Frame", "MPA ID Rep Frame"

return family {
  each(range(0, 15), function(octet)
    return {
      case {
        id = ("mpa-startup-key-octet-%d"):format(octet),
        purpose = ("The target closes without a Reply on a Request whose key is wrong in octet %d"):format(octet),
        rules = { "MPA-7.1.1-02", "MPA-7.1.2-17", "MPA-7.1.2-04", "MPA-8-07", "MPA-8-08" },
        role = "responder",
        run = function(t)
          local conn = t:connect { raw = true }
          conn:send(request { key = mpa.flip(REQUEST, octet) })
          conn:expect_close { at_once = true }
        end,
      },
      case {
        id = ("mpa-reply-key-octet-%d"):format(octet),
        purpose = ("The target closes without an FPDU on a Reply whose key is wrong in octet %d"):format(octet),
        rules = { "MPA-7.1.1-04", "MPA-7.1.2-17", "MPA-7.1.2-12", "MPA-8-07", "MPA-8-08" },
        role = "initiator",
        run = function(t)
          local conn, asked = mpa.called(t)
          conn:send(reply { key = mpa.flip(REPLY, octet), revision = asked.revision, enhanced = asked.enhanced })
          mpa.ends_after(conn, asked, { at_once = true })
        end,
      },
    }
  end),

  case {
    id = "mpa-reply-key-request",
    purpose = "The target closes without an FPDU on a Request that answers its Request (two initiators)",
    rules = { "MPA-7.1.2-21", "MPA-7.1.1-04", "MPA-7.1.2-17" },
    role = "initiator",
    run = function(t)
      local conn, asked = mpa.called(t)
      conn:send(request {}, { comment = "a Request as the answer to a Request" })
      mpa.ends_after(conn, asked, { at_once = true })
    end,
  },

  -- Field bug: a stack judged the key only after it had read the private data.
  case {
    id = "mpa-startup-key-and-length",
    purpose = "The target closes on a wrong key with PD_Length 65535, whether or not the private data comes",
    rules = { "MPA-7.1.1-02", "MPA-7.1.1-22", "MPA-8-08" },
    role = "responder",
    tags = { "field" },
    run = function(t)
      for _, present in ipairs { 0, 2000 } do
        local conn = t:connect { raw = true }
        conn:send(request { key = mpa.flip(REQUEST, 15), pd_length = 65535, enhanced = false, private = bytes(present) })
        conn:expect_close {}
      end
    end,
  },
}
