import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { apiRequest } from '../requests.js'
import type { Attack } from './attack.js'

/** Characters of three bytes each, none of which occurs twice in a row: the dearest text there is. */
const CHARACTERS = 1_500_000
const FIRST = 0x4e00
const CHOICE = 0x5000
const AT_A_TIME = 3
/** Long enough for the body to arrive. */
const STAY_MS = 100

function dearText(): string {
  const codes = Uint16Array.from({ length: CHARACTERS }, () => FIRST + Math.floor(Math.random() * CHOICE))
  return Buffer.from(codes.buffer).toString('utf16le')
}

/** Sends and leaves. */
async function sendAndLeave(port: number, request: Buffer): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await new Promise<void>((sent) => socket.end(request, () => sent()).once('error', () => sent()))
  await sleep(STAY_MS)
  socket.destroy()
}

/** Nobody waits for these counts, which once kept the threads for minutes. */
export const countFlood: Attack = {
  name: 'attack-count-flood',
  summary:
    'one organization has the tokens of 4.5 MB of rare characters counted, three at a time, and hangs up',
  play: async ({ port, key, over }) => {
    const messages = [{ role: 'user', content: dearText() }]
    const request = apiRequest('POST', '/messages/count_tokens', { model: 'bench/json', messages }, key)
    let lost = 0
    const repeat = async (): Promise<void> => {
      for (; !over.aborted; lost++) await sendAndLeave(port, request)
    }
    await Promise.all(Array.from({ length: AT_A_TIME }, repeat))
    return { statuses: {}, lost }
  },
}
