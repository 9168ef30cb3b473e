/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t soon(void)
{
    return iw_transport_now() + UINT64_C(60000000000);
}

static void run(char *const *arguments, int keep)
{
    /* Nothing else of the test lives on in the agent. */
    for (int fd = 3; fd < 64; fd++)
        if (fd != keep)
            close(fd);
    execv(IW_AGENT, arguments);
    _exit(127);
}

void agent_start(struct agent *a)
{
    int fds[2];
    char number[16];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    snprintf(number, sizeof(number), "%d", fds[1]);
    a->out = a->log = -1;
    a->pid = fork();
    assert_true(a->pid >= 0);
    if (a->pid == 0)
        run((char *const[]){"iwarp-agent", "--control-fd", number, NULL}, fds[1]);
    close(fds[1]);
    a->control = iw_control_adopt(fds[0]);
    assert_non_null(a->control);
}

static void read_line(int fd, char *line, size_t room)
{
    size_t n = 0;
    do {
        assert_true(n < room - 1);
        assert_int_equal(read(fd, line + n, 1), 1);
    } while (line[n++] != '\n');
    line[n - 1] = '\0';
}

uint16_t agent_start_listening(struct agent *a, const char *option, const char *value)
{
    int out[2], log[2];
    unsigned port = 0;
    char line[100];
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(log), 0);
    a->control = NULL;
    a->out = out[0];
    a->log = log[0];
    a->pid = fork();
    assert_true(a->pid >= 0);
    if (a->pid == 0) {
        dup2(out[1], 1);
        dup2(log[1], 2);
        run((char *const[]){(char[]){"iwarp-agent"}, (char[]){"--listen"}, (char[]){"127.0.0.1:0"},
                            (char *)(uintptr_t)option, (char *)(uintptr_t)value, NULL},
            -1);
    }
    close(out[1]);
    close(log[1]);
    read_line(a->out, line, sizeof(line));
    assert_int_equal(sscanf(line, "control on 127.0.0.1:%u", &port), 1);
    return (uint16_t)port;
}

void agent_log(struct agent *a, char *line, size_t room)
{
    read_line(a->log, line, room);
}

void agent_end(struct agent *a, int signal)
{
    int status;
    iw_control_close(a->control);
    a->control = NULL;
    if (signal)
        kill(a->pid, signal);
    assert_int_equal(waitpid(a->pid, &status, 0), a->pid);
    if (a->out >= 0)
        close(a->out);
    if (a->log >= 0)
        close(a->log);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), signal == SIGINT ? 130 : 0);
}

static json_t *parse(const char *format, va_list arguments)
{
    char text[2000];
    json_error_t error;
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the callers started it */
    vsnprintf(text, sizeof(text), format, arguments);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *object = json_loads(text, 0, &error);
    if (object == NULL)
        fail_msg("%s: %s", text, error.text);
    return object;
}

static json_t *call(struct agent *a, json_t *request)
{
    char error[300];
    json_t *reply = iw_control_call(a->control, request, soon(), error, sizeof(error));
    if (reply == NULL)
        fail_msg("%s", error);
    return reply;
}

json_t *ask(struct agent *a, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *reply = call(a, parse(format, arguments));
    va_end(arguments);
    if (!json_is_true(json_object_get(reply, "ok")))
        fail_msg("%s: %s", format, json_string_value(json_object_get(reply, "error")));
    return reply;
}

json_int_t ask_for(struct agent *a, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *reply = call(a, parse(format, arguments));
    va_end(arguments);
    if (!json_is_integer(json_object_get(reply, name)))
        fail_msg("%s: %s", format, json_string_value(json_object_get(reply, "error")));
    json_int_t value = json_integer_value(json_object_get(reply, name));
    json_decref(reply);
    return value;
}

static json_t *parse_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *object = parse(format, arguments);
    va_end(arguments);
    return object;
}

json_t *ask_in_vain(struct agent *a, const char *request)
{
    json_t *reply = call(a, parse_text("%s", request));
    assert_true(json_is_false(json_object_get(reply, "ok")));
    return reply;
}

void refuse(struct agent *a, const char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *reply = call(a, parse(format, arguments));
    va_end(arguments);
    assert_true(json_is_false(json_object_get(reply, "ok")));
    assert_string_equal(json_string_value(json_object_get(reply, "error")), error);
    json_decref(reply);
}

static void compare(const json_t *expected, const json_t *actual, const json_t *event)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)expected, key, value)
    {
        json_t *other = json_object_get(actual, key);
        if (json_is_object(value) && json_is_object(other)) {
            compare(value, other, event);
        } else if (!json_equal(value, other)) {
            char *text = json_dumps(event, 0), *want = json_dumps(value, JSON_ENCODE_ANY);
            fail_msg("event %s: expected %s %s", text, key, want);
        }
    }
}

json_int_t want_event(struct agent *a, const char *expected, ...)
{
    va_list arguments;
    va_start(arguments, expected);
    json_t *wanted = parse(expected, arguments);
    va_end(arguments);
    json_t *event = iw_control_event(a->control, soon());
    if (event == NULL)
        fail_msg("no event, expected %s", expected);
    compare(wanted, event, event);
    json_int_t conn = json_integer_value(json_object_get(event, "conn"));
    json_decref(wanted);
    json_decref(event);
    return conn;
}

void want_memory(struct agent *a, json_int_t mem, int offset, int length, const char *hex)
{
    json_t *reply =
        ask(a, "{'do':'read','mem':%lld,'offset':%d,'length':%d}", (long long)mem, offset, length);
    assert_string_equal(json_string_value(json_object_get(reply, "hex")), hex);
    json_decref(reply);
}
