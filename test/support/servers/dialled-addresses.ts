/** Which addresses this process dials, as the sockets say it. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { Lifetime } from '../data/temp-folder.js'

const CHANNEL = 'net.client.socket'

/** The list grows with every attempt to connect, until the test ends. */
export function dialledAddresses(t: Lifetime): string[] {
  const dialled: string[] = []
  const onSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket }
    socket.on('connectionAttempt', (address: string) => dialled.push(address))
  }
  subscribe(CHANNEL, onSocket)
  t.after(() => void unsubscribe(CHANNEL, onSocket))
  return dialled
}
