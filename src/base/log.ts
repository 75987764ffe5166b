import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { LogOutput } from './log-output.js'
import { traceToSources } from './source-positions.js'

/** What our code uses of a logger. No child loggers: what is bound to one escapes the redaction below. */
export type Log = Pick<Logger, LogLevel | 'isLevelEnabled' | 'level'>

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Members that may hold a credential or a body, in lower case. Redacted wherever they stand. */
const SECRET_MEMBERS = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'apikey',
  'api_key',
  'managementkey',
  'management_key',
  'x-api-key',
  'token',
  'access_token',
  'subject_token',
  'secret',
  'password',
  'body',
])
const REDACTED = '[redacted]'
/** Deeper members are left out: nothing we log on purpose is that deep. */
const MAX_DEPTH = 6

/** The one logger of a process: JSON lines on standard error. `name` says which process speaks. */
export function createLog(level: LogLevel, name: string, to: DestinationStream = new LogOutput()): Log {
  const log = pino(
    {
      level,
      base: { process: name, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      // pino's own redaction takes paths of a fixed depth; a secret does not say how deep it is.
      serializers: { err: (error: Error) => redact(stdSerializers.err(error), 0) },
      hooks: {
        logMethod(args, method) {
          method.apply(this, args.map((arg) => redact(arg, 0)) as typeof args)
        },
      },
    },
    to,
  )
  tellDroppedLines(to, log)
  return log
}

/** Says of an output how many lines nobody took, as soon as somebody does. */
function tellDroppedLines(to: DestinationStream, log: Pick<Logger, 'error'>): void {
  if (!(to instanceof LogOutput)) return
  to.onRecovered = (dropped) => log.error({ dropped }, 'lines of the log were left out: nobody took them')
}

/**
 * Members of a line about one call: figures, ids and the labels that its caller has put on it, never what was said. The
 * labels stand in objects of their own, so that none of them can pass for a member of the line.
 */
export type CallLogLine = Readonly<Record<string, string | number | boolean | null | object>>
/** Which calls have a line each: the setting `log_calls`. */
export const LOGGED_CALLS = ['none', 'failures', 'all'] as const
export type LoggedCalls = (typeof LOGGED_CALLS)[number]
/**
 * `warn` for what an operator should look at, `info` for what is told wherever calls are told at all, `success` for
 * what went well: a line at `info` where all calls are logged.
 */
export type CallSeverity = 'success' | 'info' | 'warn'

export interface CallLog {
  /** Whether lines of that severity are written. Asked first: to build one for nobody costs a part of the call. */
  isOn(severity: CallSeverity): boolean
  write(severity: CallSeverity, line: CallLogLine, message: string): void
}

/** Lines are gathered up to this size, below what a pipe takes in one piece next to other processes' lines. */
const GATHERED_BYTES = 3_000

/**
 * The log of calls: one line each, gathered and written together, because a system call per
 * line would cost as much as the rest of a small call. A crash can lose the lines of the last quarter second;
 * what explains the crash goes through `createLog`. The shape is closed, so nothing needs to be redacted.
 */
export function createCallLog(
  logged: LoggedCalls,
  level: LogLevel,
  name: string,
  to: DestinationStream = new LogOutput({ gatherBytes: GATHERED_BYTES }),
): CallLog {
  const log = pino(
    { level, base: { process: name, pid: process.pid }, timestamp: stdTimeFunctions.isoTime },
    to,
  )
  tellDroppedLines(to, log)
  const levelOf = (severity: CallSeverity) => (severity === 'success' ? 'info' : severity)
  return {
    isOn: (severity) =>
      logged !== 'none' &&
      (severity !== 'success' || logged === 'all') &&
      log.isLevelEnabled(levelOf(severity)),
    write: (severity, line, message) => log[levelOf(severity)](line, message),
  }
}

/**
 * A copy without secrets. The error of a line passes as it is, because pino's serializer wants it; others are
 * serialised here. Traces name the sources.
 */
function redact(value: unknown, depth: number, name = ''): unknown {
  if (name === 'stack' && typeof value === 'string') return traceToSources(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) {
    return depth === 0 || name === 'err' ? value : redact(stdSerializers.err(value), depth)
  }
  if (depth >= MAX_DEPTH) return '[too deep]'
  if (Array.isArray(value)) return value.map((member) => redact(member, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      SECRET_MEMBERS.has(name.toLowerCase()) ? REDACTED : redact(member, depth + 1, name),
    ]),
  )
}
