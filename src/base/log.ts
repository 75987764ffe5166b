import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino'

export type Log = Logger

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Members that may hold a credential or a body. They are blanked wherever they stand, one level deep or two. */
const SECRET_MEMBERS = [
  'authorization',
  'cookie',
  'apiKey',
  'api_key',
  'x-api-key',
  'token',
  'secret',
  'body',
]

/**
 * The one logger of a process: JSON lines on standard error, written synchronously so that the last line
 * before a crash is not lost. `name` says which process speaks.
 */
export function createLog(level: LogLevel, name: string, to?: DestinationStream): Log {
  return pino(
    {
      level,
      base: { process: name, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      redact: { paths: SECRET_MEMBERS.flatMap((m) => [bracket(m), `*${bracket(m)}`]), censor: '[redacted]' },
    },
    to ?? destination({ fd: 2, sync: true }),
  )
}

function bracket(member: string): string {
  return `["${member}"]`
}
