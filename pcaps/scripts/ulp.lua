-- SPDX-License-Identifier: BSD-3-Clause
-- Upper layers over iWARP: RPC-over-RDMA (RFC 8166), iSER (RFC 7145), NVMe/RDMA, SMB Direct ([MS-SMBD]).

local PART = { segments = 1000 } -- payload of one segment: larger messages take several

local function ulp(name, port, what, setting, run)
  capture {
    file = "ulp/" .. name, what = what,
    run = function(f)
      local c = f:open { port = port }
      c:start(setting)
      run(c, c.initiator, c.responder)
      c:close()
    end,
  }
end

-- ---- RPC-over-RDMA ----

local NFS, VERSION = 100003, 3

local function opaque(text) return (">s4"):pack(text) .. ("\0"):rep(-#text % 4) end

-- Header of RFC 8166 §4 with its chunk lists, each a list of words.
local function rdma(xid, kind, read, write, reply)
  local out = (">I4I4I4I4"):pack(xid, 1, 32, kind)
  for _, list in ipairs { read, write, reply } do out = out .. list end
  return out
end

local NONE = (">I4"):pack(0)
local EMPTY_VERIFIER = (">I4I4"):pack(0, 0)

local function call(xid, procedure, arguments)
  return (">I4I4I4I4I4I4"):pack(xid, 0, 2, NFS, VERSION, procedure) .. EMPTY_VERIFIER .. EMPTY_VERIFIER .. arguments
end

local function answer(xid, results) return (">I4I4I4"):pack(xid, 1, 0) .. EMPTY_VERIFIER .. NONE .. results end

local HANDLE = opaque("0123456789abcdef")
local NO_ATTRIBUTES = NONE

ulp("rpc-over-rdma", 20049, "NFS over RPC-over-RDMA: NULL, a WRITE whose data is a read chunk, a READ whose data is a write chunk", {},
  function(_, client, server)
    client:send(send { payload = rdma(1, 0, NONE, NONE, NONE) .. call(1, 0, "") })
    server:send(send { payload = rdma(1, 0, NONE, NONE, NONE) .. answer(1, "") })

    local data = bytes(2500)
    local before = call(2, 7, HANDLE .. (">I8I4I4I4"):pack(0, #data, 2, #data))
    local chunk = (">I4I4I4I4I8I4"):pack(1, #before, 0x1101, #data, 0x10000, 0)
    client:send(send { payload = rdma(2, 0, chunk, NONE, NONE) .. before })
    server:send(read_request { sink_stag = 0x2201, sink_to = 0x400, size = #data, source_stag = 0x1101, source_to = 0x10000 })
    client:send(read_response { stag = 0x2201, to = 0x400, payload = data }, PART)
    local results = (">I4I4I4I4I4"):pack(0, 0, 0, #data, 2) .. ("\7"):rep(8)
    server:send(send_invalidate { invalidate = 0x1101, payload = rdma(2, 0, NONE, NONE, NONE) .. answer(2, results) })

    local room = (">I4I4I4I4I8I4"):pack(1, 1, 0x1102, #data, 0x20000, 0)
    client:send(send { payload = rdma(3, 0, NONE, room, NONE) .. call(3, 6, HANDLE .. (">I8I4"):pack(0, #data)) })
    server:send(write { stag = 0x1102, to = 0x20000, payload = data }, PART)
    results = (">I4"):pack(0) .. NO_ATTRIBUTES .. (">I4I4I4"):pack(#data, 1, #data)
    server:send(send_invalidate { invalidate = 0x1102, payload = rdma(3, 0, NONE, room, NONE) .. answer(3, results) })
  end)

-- ---- iSER ----

-- RFC 7145 §9: W, R, and STag and base offset of each.
local function iser(flags, write_stag, write_to, read_stag, read_to)
  return (">BxxxI4I8I4I8"):pack(0x10 | flags, write_stag, write_to, read_stag, read_to)
end

local function text(pairs_of_keys)
  local out = table.concat(pairs_of_keys, "\0") .. "\0"
  return #out, out .. ("\0"):rep(-#out % 4)
end

local function login(opcode, flags, words, keys)
  local length, data = text(keys)
  return (">BBBBI4"):pack(opcode, flags, 0, 0, length) .. "\x80\0\0\1\0\0" .. (">I2I4"):pack(0, 1) .. words .. data
end

local INQUIRY, READ_10 = 0x12, 0x28

local function command(task, serial, cdb, expected)
  return (">BBxxI4I8I4I4I4I4"):pack(0x01, 0xc1, 0, 0, task, expected, serial, serial) .. cdb .. ("\0"):rep(16 - #cdb)
end

local function response(task, serial)
  return (">BBBBI4I8I4I4I4I4I4I4I4I4"):pack(0x21, 0x80, 0, 0, 0, 0, task, 0, serial, serial + 1, serial + 32, 0, 0, 0)
end

ulp("iser", 3260, "iSER: login, an INQUIRY and a READ(10) whose data the target writes", { private = "\x40\0\0\0" },
  function(_, client, server)
    local nothing = iser(0, 0, 0, 0, 0)
    client:send(send { payload = nothing .. login(0x43, 0x87, (">I2xxI4I4"):pack(0, 1, 0) .. ("\0"):rep(16),
      { "InitiatorName=iqn.1993-08.org.debian:01:abc", "SessionType=Normal", "TargetName=iqn.2003-01.org.example:t", "RDMAExtensions=Yes" }) })
    server:send(send { payload = nothing .. login(0x23, 0x87, (">I4I4I4I4"):pack(0, 1, 1, 32) .. ("\0"):rep(12),
      { "RDMAExtensions=Yes", "TargetPortalGroupTag=1" }) })
    client:send(send { payload = iser(4, 0, 0, 0x3301, 0x7000) .. command(5, 1, ("\18\0\0\0\36\0"), 36) })
    server:send(write { stag = 0x3301, to = 0x7000, payload = bytes(36) })
    server:send(send_invalidate { invalidate = 0x3301, payload = nothing .. response(5, 2) })
    client:send(send { payload = iser(4, 0, 0, 0x3302, 0x8000) .. command(6, 2, (">BBI4BI2B"):pack(READ_10, 0, 64, 0, 8, 0), 4096) })
    server:send(write { stag = 0x3302, to = 0x8000, payload = bytes(4096) }, PART)
    server:send(send_invalidate { invalidate = 0x3302, payload = nothing .. response(6, 3) })
  end)
-- ---- NVMe/RDMA ----

-- A command with a keyed SGL (type 4): address, length, key; the last ones of its words.
local function nvme(opcode, id, nsid, address, length, key, words)
  local sgl = ("<I8I3I4B"):pack(address, length, key, 0x40)
  return ("<BBI2I4I8I8"):pack(opcode, 0x40, id, nsid, 0, 0) .. sgl .. ("<I4I4I4I4I4I4"):pack(table.unpack(words))
end

local function connect(id, address, length, key, queue, size)
  local sgl = ("<I8I3I4B"):pack(address, length, key, 0x40)
  return ("<BBI2B"):pack(0x7f, 0x40, id, 0x01) .. ("\0"):rep(19) .. sgl .. ("<I2I2I2BBI4"):pack(0, queue, size, 0, 0, 0) .. ("\0"):rep(12)
end

local function completion(value, id) return ("<I4I4I2I2I2I2"):pack(value, 0, 1, 0, id, 0) end

local NAMES = bytes(16) .. ("<I2"):pack(0xffff) .. ("\0"):rep(238)
  .. ("nqn.2014-08.org.nvmexpress:discovery"):gsub("$", ("\0"):rep(220), 1)
  .. ("nqn.2014-08.org.nvmexpress:host"):gsub("$", ("\0"):rep(225), 1) .. ("\0"):rep(256)

-- Private data of the host: queue and its sizes; of the controller.
local function queue(number)
  return {
    request = { private = ("<I2I2I2I2"):pack(0, number, 32, 31) .. ("\0"):rep(24) },
    reply = { private = ("<I2I2"):pack(0, 32) .. ("\0"):rep(28) },
  }
end

-- Connect, whose data the controller reads.
local function attach(host, controller, number)
  host:send(send { payload = connect(7, 0x5000, 1024, 0x4401, number, 31) })
  controller:send(read_request { sink_stag = 0x5501, sink_to = 0, size = 1024, source_stag = 0x4401, source_to = 0x5000 })
  host:send(read_response { stag = 0x5501, to = 0, payload = NAMES }, PART)
  controller:send(send_invalidate { invalidate = 0x4401, payload = completion(1, 7) })
end

capture {
  file = "ulp/nvme", what = "NVMe/RDMA: private data, Connect whose data is read, Identify and a READ whose data is written; two queues",
  run = function(f)
    local admin, io = f:open { port = 4420 }, f:open { port = 4420 }
    admin:start(queue(0))
    io:start(queue(1))
    attach(admin.initiator, admin.responder, 0)
    attach(io.initiator, io.responder, 1)
    admin.initiator:send(send { payload = nvme(0x06, 8, 0, 0x9000, 4096, 0x4402, { 1, 0, 0, 0, 0, 0 }) })
    io.initiator:send(send { payload = nvme(0x02, 9, 1, 0xa000, 2048, 0x4403, { 64, 0, 3, 0, 0, 0 }) })
    admin.responder:send(write { stag = 0x4402, to = 0x9000, payload = bytes(4096) }, PART)
    io.responder:send(write { stag = 0x4403, to = 0xa000, payload = bytes(2048) }, PART)
    io.responder:send(send_invalidate { invalidate = 0x4403, payload = completion(0, 9) })
    admin.responder:send(send_invalidate { invalidate = 0x4402, payload = completion(0, 8) })
    admin:close()
    io:close()
  end,
}

-- ---- SMB Direct ----

local function smb2(id, response, body)
  return "\xfeSMB" .. ("<I2I2I4I2I2I4I4I8I4I4I8"):pack(64, 0, 0, 0, 1, response and 1 or 0, 0, id, 0, 0, 0) .. ("\0"):rep(16) .. body
end

local function data(message, remaining) return ("<I2I2I2I2I4I4I4I4"):pack(10, 10, 0, 0, remaining or 0, 24, #message, 0) .. message end

ulp("smb-direct", 5445, "SMB Direct: negotiation, SMB2 Negotiate", {},
  function(_, client, server)
    client:send(send { payload = ("<I2I2I2I2I4I4I4"):pack(0x100, 0x100, 0, 10, 1364, 8192, 1048576) })
    server:send(send { payload = ("<I2I2I2I2I2I2I4I4I4I4I4"):pack(0x100, 0x100, 0x100, 0, 10, 10, 0, 1048576, 1364, 8192, 1048576) })
    local request = smb2(0, false, ("<I2I2I2I2I4"):pack(36, 2, 1, 0, 0) .. bytes(16) .. ("<I8I2I2"):pack(0, 0x0210, 0x0300))
    client:send(send { payload = data(request) })
  end)
