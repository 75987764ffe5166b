import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { apiRequest } from '../requests.js'
import type { Attack } from './attack.js'

/** More than the worker may hold. */
const CONNECTIONS = 3_000
const MOST = 1_000
/** New ones in each step, and the time between two steps. */
const STEP = 100
const STEP_MS = 20
/** From an address of its own: its neighbours have another. */
const ADDRESS = '127.0.0.2'
/** The head of a request that never ends. */
const UNFINISHED = apiRequest('GET', '/health').subarray(0, -2)

/**
 * As many connections as can be had, each with a request that is never finished. Those that the server closes are
 * opened anew.
 */
export const connectionFlood: Attack = {
  name: 'attack-connection-flood',
  summary:
    '3,000 connections of one address to a worker that may hold 1,000, opened again as they are closed',
  environment: { SLUICE_MAX_CONNECTIONS: String(MOST) },
  play: async ({ port, over }) => {
    const open = new Set<Socket>()
    let lost = 0
    const openOne = (): void => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: ADDRESS })
      open.add(socket)
      socket.write(UNFINISHED)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        lost++
      })
      socket.resume()
    }
    while (!over.aborted) {
      for (let one = 0; one < STEP && open.size < CONNECTIONS; one++) openOne()
      await sleep(STEP_MS)
    }
    for (const socket of open) socket.destroy()
    return { statuses: {}, lost }
  },
}
