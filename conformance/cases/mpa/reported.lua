-- SPDX-License-Identifier: BSD-3-Clause

-- The target's reports to its ULP, and the versions that follow from the start-up.
local mpa = use "mpa"

-- The target's configuration for this revision, in either role.
local function config(t, revision)
  if t.case.role == "responder" then return { revision = revision } end
  return { revision = revision, enhanced = revision == 2, peer_to_peer = revision == 2 }
end

return family {
  each(range(1, 2), function(revision)
    return {
      both_roles {
        id = ("mpa-versions-rev%d"):format(revision),
        purpose = ("After a start-up of revision %d all segments of the target have DDP and RDMAP version 1"):format(revision),
        rules = { "MPA-3-13", "MPA-C.1-01", "DDP-4.1-11", "RDMAP-4.1-08" },
        needs = { agent = true, revision = revision },
        run = function(t)
          local conn = t:session { revision = revision, crc = true, target = config(t, revision) }
          conn:sanity()
          t:post { op = "send", payload = "data" }
          conn:expect(send { payload = "data", dv = 1, rv = 1 })
          t:post { op = "write", payload = "data", stag = 1, to = 2 }
          conn:expect(write { payload = "data", dv = 1, rv = 1 })
          conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
          conn:expect(read_response { stag = 1, to = 2, dv = 1, rv = 1 })
          conn:send(write {}, { crc = "bad" })
          conn:expect(terminate { llp = "mpa", code = "crc", dv = 1, rv = 1 }, closed(),
            { dropped = true, rule = "MPA-8-02" })
        end,
      },
      both_roles {
        id = ("mpa-revision-seen-rev%d"):format(revision),
        purpose = ("The target reports to its ULP that revision %d is in use"):format(revision),
        rules = { "MPA-7.1.1-19" },
        needs = { agent = true, revision = revision },
        run = function(t)
          local conn = t:session { revision = revision, crc = true, target = config(t, revision) }
          t:check(conn.agreed.revision == revision and conn.agreed.enhanced == (revision == 2),
            "the target reported another revision to its ULP", { expected = "revision " .. revision,
              actual = ("revision %d%s"):format(conn.agreed.revision, conn.agreed.enhanced and ", enhanced" or "") })
        end,
      },
    }
  end),

  both_roles {
    id = "mpa-fault-reported-crc",
    purpose = "The target reports a wrong CRC to its ULP with the code of its Terminate",
    rules = { "MPA-8-09", "MPA-8-02" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session { crc = true }
      conn:send(write {}, { crc = "bad" })
      local item = mpa.expect_crc_fault(conn)
      if not (item and item.op) then return end
      local reported = t:event("fault", conn).terminate
      local code = reported and ("%d/%d/%02x"):format(reported.layer, reported.type, reported.code)
      t:check(fault.crc:has(code), "the target reported another code to its ULP",
        { expected = fault.crc:codes(), actual = code or "none" })
    end,
  },

  both_roles {
    id = "mpa-fault-reported-startup",
    purpose = "The target reports a malformed Request or Reply to its ULP as the loss of the connection",
    rules = { "MPA-8-13", "MPA-8-07", "MPA-7.1.2-17" },
    needs = { agent = true },
    run = function(t)
      local conn
      if t.case.role == "responder" then
        conn = t:connect { raw = true }
        conn:send(request { key = "MPA ID Xeq Frame" })
        conn:expect_close { at_once = true }
      else
        local asked
        conn, asked = mpa.called(t)
        conn:send(reply { key = "MPA ID Xep Frame" })
        mpa.ends_after(conn, asked, { at_once = true })
      end
      conn:shutdown()
      local event = t:wait_event(function(e)
        return (e.event == "closed" or e.event == "established") and (not conn.agent or e.conn == conn.agent)
      end)
      t:check(event and event.event == "closed" and event.graceful == false,
        "the target did not report the failed start-up to its ULP",
        { expected = "closed, not gracefully", actual = event and event.event })
    end,
  },

  case {
    id = "mpa-startup-frames-plain",
    purpose = "Start-up frames have neither Markers nor a CRC, even with 512 octets of private data",
    rules = { "MPA-7.1-05", "EMPA-6-01", "EMPA-6-03", "MPA-7.1-01", "MPA-7.1.2-20" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect { raw = true, target = { accept = "ask", markers = true } }
      conn:send(request { revision = 1, markers = true, private = bytes(512) })
      t:requested(conn)
      t:accept(conn, bytes(512, 0x77))
      local answer = conn:expect(reply { revision = 1, rejected = false, reserved = 0, private = bytes(512, 0x77), pd_length = 512 })
      t:check(conn:state().received == 532, "the target sent more octets than those of the frame")
      conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
      local item = conn:expect(read_response { stag = 1, to = 2, payload = "" })
      t:check(item.position == answer.finish, "the target's first FPDU does not follow its Reply directly",
        { expected = tostring(answer.finish), actual = tostring(item.position) })
    end,
  },

  case {
    id = "mpa-startup-ulp-refuses-reply",
    purpose = "An initiator whose ULP does not like the Reply's private data closes without an FPDU",
    rules = { "MPA-7.1.2-18" },
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      local conn, asked = mpa.called(t, { peer_to_peer = false, enhanced = true, revision = 2 })
      conn:send(t:answer(asked, { private = "not what you want" }))
      t:established(conn)
      t:target_close(conn, "graceful")
      mpa.ends_after(conn, asked, { quiet = true })
    end,
  },
}
