import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack, AttackReport, AttackTarget } from './attack.js'
import { mergeReports } from './attack.js'

const CONNECTIONS = 4
/** About what the native server reads at once: all of it is run in one turn. */
const BLOCK_BYTES = 500 * 1024
/** A block whose connection has been silent for so long is done. */
const SILENCE_MS = 500
const LINES = [
  'HEAD /api/v1/stats',
  'HEAD /api/v1/openapi.json',
  'HEAD /metrics',
  'HEAD /docs/swagger-ui-bundle.js',
  'GET /api/v1/stats',
]

/** Sends a block of one request over and over, and counts it by the status of what came first; lost when nothing did. */
function sendBlock(port: number, line: string): Promise<AttackReport> {
  const request = `${line} HTTP/1.1\r\nHost: a\r\n\r\n`
  return new Promise((resolve) => {
    let status = ''
    const socket = connect({ port, host: '127.0.0.1' })
    const end = (): void => {
      socket.destroy()
      resolve(status === '' ? { statuses: {}, lost: 1 } : { statuses: { [status]: 1 }, lost: 0 })
    }
    socket.setTimeout(SILENCE_MS, end)
    socket.on('data', (bytes) => {
      status ||= bytes.toString('latin1', 9, 12)
    })
    socket.on('error', end)
    socket.on('end', end)
    socket.write(request.repeat(Math.ceil(BLOCK_BYTES / request.length)))
  })
}

async function keepSending({ port, over }: AttackTarget, first: number): Promise<AttackReport> {
  const reports: AttackReport[] = []
  for (let turn = first; !over.aborted; turn++) {
    reports.push(await sendBlock(port, LINES[turn % LINES.length]!))
    await sleep(1)
  }
  return mergeReports(reports)
}

/** Anybody may ask for what costs much to write and, as HEAD, nothing to send: ten thousand times in one packet. */
export const sentAhead: Attack = {
  name: 'attack-sent-ahead',
  summary: '4 connections without a key send 500 KB of requests for stats, document and metrics at a time',
  play: async (target) =>
    mergeReports(
      await Promise.all(Array.from({ length: CONNECTIONS }, (_, one) => keepSending(target, one))),
    ),
}
