/** Plays raw requests against a server: each on connections of its own, alone and with a request behind it. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseChunkSize, ResponseHead } from '../../../harness/http/response-framing.js'
import { BEHIND, BEHIND_MARK, OWN_MARK, type RawRequest } from './raw-request.js'

interface Target {
  readonly host: string
  readonly port: number
}

/** Where the request behind it stands: nowhere, in the same packet, or in one of its own. */
type Company = 'alone' | 'same packet' | 'next packet'

export interface Play {
  readonly request: RawRequest
  readonly company: Company
  /** Names that the item of the request, and that of the one behind it, would have. */
  readonly own: string
  readonly behind: string
  /** Of the final answers, in order. */
  readonly statuses: readonly number[]
  /** Of the interim ones. */
  readonly interim: readonly number[]
  /** Bytes came that are no answer. */
  readonly garbled: boolean
  /** How the server ended the connection; null when it had not at the time limit, or when nobody waited for it. */
  readonly ended: 'fin' | 'reset' | null
  readonly ms: number
}

/** Longer than the timers by which both builds of the native server end a silent connection. */
const LIMIT_MS = 70_000
/** Time for the next packet to be one of its own. */
const GAP_MS = 200
/** How long an answered connection is watched, where it may stay or end. */
const WATCH_MS = 300
const AT_ONCE = 256

/** Splits what came into answers. */
function readAnswers(bytes: Buffer, head: boolean): Pick<Play, 'statuses' | 'interim' | 'garbled'> {
  const statuses: number[] = []
  const interim: number[] = []
  let at = 0
  try {
    while (at < bytes.length) {
      const end = bytes.indexOf('\r\n\r\n', at)
      if (end < 0) return { statuses, interim, garbled: true }
      const answer = new ResponseHead(bytes.toString('latin1', at, end), head && statuses.length === 0)
      at = bodyEnd(bytes, end + 4, answer)
      ;(answer.status < 200 ? interim : statuses).push(answer.status)
    }
  } catch {
    return { statuses, interim, garbled: true }
  }
  return { statuses, interim, garbled: at > bytes.length }
}

/** Where the body that begins at `at` ends; beyond the bytes when it is not complete. */
function bodyEnd(bytes: Buffer, at: number, head: ResponseHead): number {
  if (head.framing === 'none') return at
  if (head.framing === 'length') return at + head.length
  if (head.framing === 'until-close') return bytes.length
  for (let from = at; ; ) {
    const line = bytes.indexOf('\r\n', from)
    if (line < 0) return bytes.length + 1
    const size = parseChunkSize(bytes, from, line)
    from = line + 4 + size
    if (size === 0) return from
  }
}

const mayStay = (request: RawRequest): boolean => request.right !== 'refused' && request.last !== true

/** The whole list in the order of the table, a few at a time. `progress` is told how many are done. */
export async function playAll(
  target: Target,
  requests: readonly RawRequest[],
  progress: (done: number) => void = () => undefined,
): Promise<Play[]> {
  const run = Date.now().toString(36).slice(-6)
  const jobs = requests.flatMap((request) =>
    (mayStay(request) ? (['alone'] as const) : (['alone', 'same packet', 'next packet'] as const)).map(
      (company) => ({ request, company }),
    ),
  )
  const plays: Play[] = []
  let next = 0
  let done = 0
  const work = async (): Promise<void> => {
    while (next < jobs.length) {
      const index = next++
      const { request, company } = jobs[index]!
      const number = run + index.toString(36).padStart(6, '0')
      plays[index] = await playOne(target, request, company, number)
      progress(++done)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return plays
}

async function playOne(target: Target, request: RawRequest, company: Company, number: string): Promise<Play> {
  const own = OWN_MARK.slice(0, -number.length) + number
  const behind = BEHIND_MARK.slice(0, -number.length) + number
  const marked = (text: string): Buffer =>
    Buffer.from(text.replaceAll(OWN_MARK, own).replaceAll(BEHIND_MARK, behind), 'latin1')
  const packets = [0, ...(request.cuts ?? [])].map((from, i) =>
    marked(request.bytes).subarray(from, request.cuts?.[i] ?? request.bytes.length),
  )
  if (company === 'next packet') packets.push(marked(BEHIND))
  if (company === 'same packet') packets.push(Buffer.concat([packets.pop()!, marked(BEHIND)]))
  const started = performance.now()
  const heard = await exchange(target, packets, (bytes) => isAnswered(request, bytes))
  return {
    request,
    company,
    own,
    behind,
    ...readAnswers(heard.bytes, request.head === true),
    ended: heard.ended,
    ms: performance.now() - started,
  }
}

/** Whether a request that leaves its connection open has its answer. */
function isAnswered(request: RawRequest, bytes: Buffer): boolean {
  if (!mayStay(request)) return false
  const { statuses, garbled } = readAnswers(bytes, request.head === true)
  return !garbled && statuses.length > 0
}

interface Heard {
  readonly bytes: Buffer
  readonly ended: Play['ended']
}

function exchange(
  { host, port }: Target,
  packets: readonly Buffer[],
  isDone: (bytes: Buffer) => boolean,
): Promise<Heard> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true })
    const parts: Buffer[] = []
    let watch: NodeJS.Timeout | undefined
    const finish = (ended: Play['ended']): void => {
      clearTimeout(limit)
      clearTimeout(watch)
      socket.destroy()
      resolve({ bytes: Buffer.concat(parts), ended })
    }
    const limit = setTimeout(() => finish(null), LIMIT_MS)
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => {
      parts.push(bytes)
      if (watch === undefined && isDone(Buffer.concat(parts)))
        watch = setTimeout(() => finish(null), WATCH_MS)
    })
    socket.on('end', () => finish('fin'))
    socket.on('error', () => finish('reset'))
    socket.on('close', () => finish('reset'))
    socket.on('connect', () => void sendPackets(packets, (bytes) => socket.write(bytes)))
  })
}

async function sendPackets(packets: readonly Buffer[], write: (bytes: Buffer) => void): Promise<void> {
  for (const [i, packet] of packets.entries()) {
    if (i > 0) await sleep(GAP_MS)
    write(packet)
  }
}

/** The names of all items that the server has. */
export async function itemNames({ host, port }: Target): Promise<Set<string>> {
  const names = new Set<string>()
  const page = 100
  for (let offset = 0; ; offset += page) {
    const answer = await fetch(`http://${host}:${port}/api/v1/items?limit=${page}&offset=${offset}`)
    const items = (await answer.json()) as { name: string }[]
    for (const { name } of items) names.add(name)
    if (items.length < page) return names
  }
}
