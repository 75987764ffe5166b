import type { Socket } from 'node:net'

/**
 * Ends a connection with a reset. One whose own end is just being sent is closed without: Node cannot reset it, says so in
 * an error, and has lost the connection by then, which stays open and keeps the process alive.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy()
  else socket.resetAndDestroy()
}
