#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Validates the catalogue of rules and the table of checks and turns both into C.

usage: generate.py REQUIREMENTS.csv CHECKS.csv HEADER.h TABLE.c
"""

import csv
import os
import re
import sys

RULE_COLUMNS = ["id", "rfc", "section", "level", "subject", "side", "testable",
                "requirement", "how_to_test", "expected_observation"]
CHECK_COLUMNS = ["check", "kinds", "reaction", "rule", "sender", "others", "text"]
LEVELS = ["MAY", "SHOULD", "SHOULD NOT", "MUST", "MUST NOT"]
SUBJECTS = ["sender", "receiver", "both", "initiator", "responder", "ulp"]
SIDES = ["either", "initiator", "responder", "n/a"]
TESTABLE = ["no", "api", "wire-passive", "wire-active"]
KINDS = {"e": "IW_KIND_ENDPOINT", "o": "IW_KIND_OBSERVER",
         "s": "IW_KIND_LEGAL", "v": "IW_KIND_VIOLATE"}
IMPLIED = "[implied] "
ANSWER = "answer:"  # of a sender rule: the side that breaks it does so by what it answers to what it received


class Bad(Exception):
    """A defect of the input, as one line FILE:LINE: what is wrong."""


def rows(path, columns):
    """Yields (place, row) for each row of a CSV file that has exactly these columns."""
    try:
        with open(path, encoding="ascii", newline="") as file:
            reader = csv.reader(file, strict=True)
            line = 1
            for number, fields in enumerate(reader):
                place = f"{path}:{line}"
                line = reader.line_num + 1
                if number == 0:
                    if fields != columns:
                        raise Bad(f"{place}: header line is not {','.join(columns)}")
                    continue
                if len(fields) != len(columns):
                    raise Bad(f"{place}: {len(fields)} fields, expected {len(columns)}")
                yield place, dict(zip(columns, fields))
    except OSError as error:
        raise Bad(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Bad(f"{path}: octet {error.start} is not ASCII") from error
    except csv.Error as error:
        raise Bad(f"{path}:{reader.line_num}: {error}") from error


def one_of(place, row, column, allowed):
    if row[column] not in allowed:
        raise Bad(f"{place}: {column} '{row[column]}' is none of {', '.join(allowed)}")


def read_rules(path):
    rules, seen, sections = [], {}, set()
    for place, row in rows(path, RULE_COLUMNS):
        ident = row["id"]
        if not re.fullmatch(r"[A-Z]+-[0-9A-Z.]+-[0-9]{2}", ident):
            raise Bad(f"{place}: '{ident}' is not a rule id")
        if ident in seen:
            raise Bad(f"{place}: rule {ident} stands already at {rules[seen[ident]]['place']}")
        if not re.fullmatch(r"[0-9]{4}", row["rfc"]):
            raise Bad(f"{place}: rfc '{row['rfc']}' is not a number of four digits")
        one_of(place, row, "level", LEVELS)
        one_of(place, row, "subject", SUBJECTS)
        one_of(place, row, "side", SIDES)
        one_of(place, row, "testable", TESTABLE)
        if not row["requirement"]:
            raise Bad(f"{place}: rule {ident} has no text")
        section = (row["rfc"], row["section"])
        if section in sections and (rules[-1]["rfc"], rules[-1]["section"]) != section:
            raise Bad(f"{place}: the rules of RFC {section[0]} section {section[1]} do not stand together")
        sections.add(section)
        row["place"] = place
        row["implied"] = row["requirement"].startswith(IMPLIED)
        row["text"] = row["requirement"].removeprefix(IMPLIED)
        row["checks"] = []
        seen[ident] = len(rules)
        rules.append(row)
    if not rules:
        raise Bad(f"{path}: no rules")
    return rules, seen


def read_reaction(place, row):
    """Returns the C initialisers of the reaction: kind, layer, etype, code."""
    simple = {"-": "NONE", "local": "LOCAL", "close": "CLOSE"}
    text = row["reaction"]
    if text in simple:
        if text == "-" and set(row["kinds"]) & set("es"):
            raise Bad(f"{place}: {row['check']} can be refused (kinds {row['kinds']}) but has no reaction")
        return f"IW_REACTION_{simple[text]}", "0", "0", "0"
    match = re.fullmatch(r"([0-9a-f])/([0-9a-f])/([0-9a-f]{2})", text)
    if not match:
        raise Bad(f"{place}: reaction '{text}' is none of L/T/CC (hexadecimal), close, local, -")
    return ("IW_REACTION_TERMINATE", *(f"0x{digits}" for digits in match.groups()))


def read_sender(place, row, rules, rule_index):
    """Returns the index of the rule that the side breaks which sends the thing, or does it; that of `rule` if there is no such side."""
    name, ident = row["check"], row["sender"].removeprefix(ANSWER)
    if not row["sender"]:
        if set(row["kinds"]) & set("ov"):
            raise Bad(f"{place}: check {name} (kinds {row['kinds']}) names no rule of the sender")
        return rule_index[row["rule"]]
    if not set(row["kinds"]) & set("ov"):
        raise Bad(f"{place}: check {name} (kinds {row['kinds']}) is about no sender, but names the rule '{ident}' of one")
    if ident not in rule_index:
        raise Bad(f"{place}: check {name} names the unknown rule '{ident}' of the sender")
    if rule_index[ident] not in row["rules"]:
        raise Bad(f"{place}: the sender's rule {ident} is not among the rules of check {name}")
    receiver = rules[rule_index[ident]]["subject"] == "receiver"
    if receiver and "o" in row["kinds"] and ident == row["sender"]:
        raise Bad(f"{place}: rule {ident} binds receivers, but the observer accuses the sender of it: "
                  f"name another one, or write '{ANSWER}{ident}' if it is about what a receiver answers")
    if not receiver and ident != row["sender"]:
        raise Bad(f"{place}: rule {ident} is not one of receivers, so '{ANSWER}' is out of place")
    return rule_index[ident]


def read_checks(path, rules, rule_index):
    checks, seen = [], {}
    for place, row in rows(path, CHECK_COLUMNS):
        name = row["check"]
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name):
            raise Bad(f"{place}: '{name}' is not a check name")
        if name in seen:
            raise Bad(f"{place}: check {name} stands already at {seen[name]}")
        seen[name] = place
        kinds = "" if row["kinds"] == "-" else row["kinds"]
        if not row["kinds"] or len(set(kinds)) != len(kinds) or set(kinds) - set(KINDS):
            raise Bad(f"{place}: kinds '{kinds}' are not distinct letters of {''.join(KINDS)}")
        if not row["text"] or "*/" in row["text"]:
            raise Bad(f"{place}: check {name} has no usable text")
        row["reaction_fields"] = read_reaction(place, row)
        row["rules"] = []
        for ident in [row["rule"], *row["others"].split()]:
            if ident not in rule_index:
                raise Bad(f"{place}: check {name} names the unknown rule '{ident}'")
            if rule_index[ident] in row["rules"]:
                raise Bad(f"{place}: check {name} names rule {ident} twice")
            if rules[rule_index[ident]]["subject"] == "ulp":
                raise Bad(f"{place}: check {name} is about the stack, but rule {ident} binds the ULP")
            row["rules"].append(rule_index[ident])
            rules[rule_index[ident]]["checks"].append(name)
        row["sender_rule"] = read_sender(place, row, rules, rule_index)
        checks.append(row)
    if not checks:
        raise Bad(f"{path}: no checks")
    if len(checks) > 1000:
        raise Bad(f"{path}: {len(checks)} checks, the table is meant for at most 1000")
    return checks


def enumerator(name):
    return "IW_CHECK_" + name.upper().replace("-", "_")


def symbol(prefix, value):
    return prefix + re.sub(r"[^A-Z]", "_", value.upper())


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def header(rules, checks):
    lines = ["/* SPDX-License-Identifier: BSD-3-Clause */",
             "/* Generated from requirements.csv and checks.csv by generate.py: do not edit. */",
             "#ifndef IWARP_CHECKS_H", "#define IWARP_CHECKS_H", "",
             f"#define IW_RULE_COUNT {len(rules)}", "",
             "enum iw_check {", "    IW_CHECK_NONE = 0,"]
    lines += [f"    {enumerator(check['check'])}, /* {check['text']} */" for check in checks]
    lines += ["    IW_CHECK_COUNT", "};", "", "#endif"]
    return "\n".join(lines) + "\n"


def table(rules, checks):
    lines = ["/* SPDX-License-Identifier: BSD-3-Clause */",
             "/* Generated from requirements.csv and checks.csv by generate.py: do not edit. */",
             '#include "rules/table.h"', ""]
    for number, rule in enumerate(rules):
        if rule["checks"]:
            names = ", ".join(enumerator(name) for name in rule["checks"])
            lines.append(f"static const enum iw_check checks_of_{number}[] = {{{names}}};")
    lines += ["", "const struct iw_rule iw_rules_table[IW_RULE_COUNT] = {"]
    for number, rule in enumerate(rules):
        served = f"checks_of_{number}, {len(rule['checks'])}" if rule["checks"] else "NULL, 0"
        lines.append("    {" + ", ".join([
            c_string(rule["id"]), rule["rfc"], c_string(rule["section"]),
            symbol("IW_LEVEL_", rule["level"]), symbol("IW_SUBJECT_", rule["subject"]),
            symbol("IW_RULE_SIDE_", rule["side"]), symbol("IW_TESTABLE_", rule["testable"]),
            "true" if rule["implied"] else "false", c_string(rule["text"]),
            c_string(rule["how_to_test"]), c_string(rule["expected_observation"]), served]) + "},")
    by_id = sorted(range(len(rules)), key=lambda number: rules[number]["id"])
    lines += ["};", "", f"const uint16_t iw_rules_by_id[IW_RULE_COUNT] = {{{', '.join(map(str, by_id))}}};", ""]
    for number, check in enumerate(checks):
        if len(check["rules"]) > 1:
            others = ", ".join(str(index) for index in check["rules"][1:])
            lines.append(f"static const uint16_t others_of_{number}[] = {{{others}}};")
    lines += ["", "const struct iw_check_info iw_checks_table[IW_CHECK_COUNT] = {",
              '    {"none", 0, IW_REACTION_NONE, 0, 0, 0, 0, 0, NULL, 0, "no check"},']
    for number, check in enumerate(checks):
        count = len(check["rules"]) - 1
        others = f"others_of_{number}, {count}" if count else "NULL, 0"
        kinds = " | ".join(KINDS[letter] for letter in check["kinds"] if letter != "-") or "0"
        lines.append("    {" + ", ".join([
            c_string(check["check"]), kinds, *check["reaction_fields"], str(check["rules"][0]),
            str(check["sender_rule"]), others, c_string(check["text"])]) + "},")
    lines += ["};"]
    return "\n".join(lines) + "\n"


def main(arguments):
    if len(arguments) != 4:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 64
    rules_path, checks_path, header_path, table_path = arguments
    try:
        rules, rule_index = read_rules(rules_path)
        checks = read_checks(checks_path, rules, rule_index)
    except Bad as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in ((header_path, header(rules, checks)), (table_path, table(rules, checks))):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
