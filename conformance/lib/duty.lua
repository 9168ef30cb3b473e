-- SPDX-License-Identifier: BSD-3-Clause
-- Whose duty a rule is (the column `subject` of proto/rules/requirements.csv). A case accuses the target of rules that bind
-- it where it stands: as the initiator or the responder, as the receiver of an error or the sender of an answer.

local duty = {}

local ROLES = { initiator = true, responder = true }

-- Returns why a case with the target in `role` cannot accuse it of this rule; nil if it can. `verdict`: what the accusation
-- amounts to; one that is a PASS accuses nobody. A MAY permits what it names to one side: the other has to take it.
function duty.wrong(id, role, verdict)
  local level, subject = iw.rule(id)
  if verdict == "PASS" or level == "PASS" then return nil end
  if subject == "ulp" then return ("rule %s binds the ULP: no fault of the target's stack breaks it"):format(id) end
  if ROLES[subject] and subject ~= role then
    return ("rule %s binds the %s, and the target is the %s here"):format(id, subject, role)
  end
  return nil
end

-- Returns why a target that does not detect an error cannot have broken this rule; nil if it can: a rule of receivers, of the
-- role that has to look, or of a sender's answer to the error (one that only provoking it shows).
function duty.blind(id, verdict)
  local level, subject, provoked = iw.rule(id)
  if verdict == "PASS" or level == "PASS" or provoked or subject ~= "sender" and subject ~= "both" then return nil end
  return ("rule %s binds who sends such octets, and here the station sent them: name the rule by which a receiver detects them")
    :format(id)
end

return duty
