import { readFileSync } from 'node:fs'

/** States of /proc/net/tcp in which a side still holds a socket; TIME_WAIT belongs to the kernel alone. */
const HELD = new Set(['01', '02', '04', '05', '08', '09', '0B'])

/** How many IPv4 sockets of this machine are connected, or still connecting, to `port`. */
export function socketsTo(port: number): number {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .slice(1)
    .filter((line) => {
      const [, , remote = '', state = ''] = line.trim().split(/\s+/)
      return remote.endsWith(suffix) && HELD.has(state)
    }).length
}
