import { setMaxListeners } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Attack, AttackReport, AttackTarget } from './attack.js'

const MIB = 2 ** 20
/** More than calls may be in flight in a worker. */
const SMALL_BODIES = 10_100
const LARGE_BODIES = 150
const LARGE_BYTES = 19 * MIB
const PIECE = Buffer.alloc(MIB / 4, 'x')
/** What a line of a gigabit carries. Over the loopback alone a sender has ten times as much, all connections together. */
const BYTES_PER_SECOND = 125e6
/** Connections that are opened at a time. */
const OPENED_TOGETHER = 200

/** How much of a body each sender begins with; it never sends the end. */
interface Beginning {
  readonly head: string
  /** Bytes of the body. */
  readonly sent: number
}

/** Gives each piece its moment on a line that all connections share. */
class Line {
  #free = performance.now()

  send(bytes: number, write: () => void): void {
    const at = Math.max(performance.now(), this.#free)
    this.#free = at + (bytes / BYTES_PER_SECOND) * 1000
    if (at - performance.now() < 1) write()
    else setTimeout(write, at - performance.now())
  }
}

/** Sends the beginning and says what came back: the status, 0 for nothing while the attack lasts. */
function beginBody(
  { port, over }: AttackTarget,
  { head, sent }: Beginning,
  line: Line,
  opened: () => void,
): Promise<number> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ host: '127.0.0.1', port })
    let status = 0
    let left = sent
    const write = (): void => {
      if (left === 0 || socket.destroyed) return
      const size = Math.min(left, PIECE.byteLength)
      left -= size
      line.send(size, () => {
        if (!socket.destroyed) socket.write(PIECE.subarray(0, size), write)
      })
    }
    const end = (): void => {
      socket.destroy()
      over.removeEventListener('abort', end)
      opened()
      resolve(status)
    }
    over.addEventListener('abort', end)
    socket.on('connect', () => {
      socket.write(head)
      write()
      opened()
    })
    socket.on('data', (bytes) => {
      status ||= Number(bytes.toString('latin1', 9, 12)) || 0
    })
    socket.on('error', end)
    socket.on('close', end)
  })
}

async function holdBodies(target: AttackTarget, count: number, beginning: Beginning): Promise<AttackReport> {
  setMaxListeners(0, target.over)
  const line = new Line()
  const answers: Promise<number>[] = []
  while (answers.length < count && !target.over.aborted) {
    const together = Array.from({ length: Math.min(OPENED_TOGETHER, count - answers.length) }, () => {
      let opened = (): void => {}
      const open = new Promise<void>((resolve) => {
        opened = resolve
      })
      answers.push(beginBody(target, beginning, line, opened))
      return open
    })
    await Promise.all(together)
  }
  const statuses: Record<string, number> = {}
  for (const status of await Promise.all(answers)) {
    if (status > 0) statuses[status] = (statuses[status] ?? 0) + 1
  }
  const answered = Object.values(statuses).reduce((sum, one) => sum + one, 0)
  return { statuses, lost: answers.length - answered }
}

function headOf(path: string, length: number, more: readonly string[] = []): string {
  const lines = [
    `POST /api/v1${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    ...more,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Nobody has to have a key for it, and it costs the sender a megabyte. */
export const halfSentBodies: Attack = {
  name: 'attack-half-sent-bodies',
  summary: '10,100 connections without a key send a hundred bytes of a body each and no more',
  play: (target) => holdBodies(target, SMALL_BODIES, { head: headOf('/hash', 1000), sent: 100 }),
}

export const largeHalfSentBodies: Attack = {
  name: 'attack-large-half-sent-bodies',
  summary: '150 connections of an ordinary key send a body of 19 MiB each but for its end',
  play: (target) => {
    const head = headOf('/chat/completions', LARGE_BYTES + 1, [`Authorization: Bearer ${target.key}`])
    return holdBodies(target, LARGE_BODIES, { head, sent: LARGE_BYTES })
  },
}
