/** What the processes of a sandbox hold, read from /proc (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs'

/** The kernel keeps about so much for the buffers of a socket, beside what processes hold. */
const SOCKET_BYTES = 256 * 1024
const TCP_SOCKET_BYTES = 2 ** 20
/** More tasks than a sandbox may have by any setting: the rest of a tree is not looked at. */
const MOST_TASKS = 4096

/**
 * Memory of a process and of all beneath it: private pages and shared ones that are no file, swap, tables of pages;
 * and buffers of sockets in its network namespace. What goes away while it is read counts nothing.
 */
export function memoryOfTree(pid: number): number {
  let bytes = socketMemory(pid)
  const pending = [pid]
  for (let seen = 0; seen < MOST_TASKS; seen++) {
    const next = pending.pop()
    if (next === undefined) break
    const status = readText(`/proc/${next}/status`)
    bytes += memoryIn(status)
    for (const task of tasksOf(next, status)) {
      seen++
      for (const child of readText(`/proc/${next}/task/${task}/children`).split(' ')) {
        if (child !== '') pending.push(Number(child))
      }
    }
  }
  return bytes
}

/** A thread has children of its own. Most processes have one thread, whose number is the process's. */
function tasksOf(pid: number, status: string): readonly string[] {
  if (/^Threads:\s+1$/m.test(status)) return [String(pid)]
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

const HELD = /^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+) kB$/gm

function memoryIn(status: string): number {
  let kibibytes = 0
  for (const [, figure] of status.matchAll(HELD)) kibibytes += Number(figure)
  return kibibytes * 1024
}

function socketMemory(pid: number): number {
  const text = readText(`/proc/${pid}/net/sockstat`)
  const sockets = Number(/^sockets: used (\d+)/m.exec(text)?.[1] ?? 0)
  const tcp = Number(/^TCP: inuse (\d+)/m.exec(text)?.[1] ?? 0)
  return sockets * SOCKET_BYTES + tcp * TCP_SOCKET_BYTES
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
