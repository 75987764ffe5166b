/** Limits of the system that bound a run. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const FILES: Readonly<Record<string, string>> = {
  'local port range': '/proc/sys/net/ipv4/ip_local_port_range',
  'listen backlog': '/proc/sys/net/core/somaxconn',
  'SYN backlog': '/proc/sys/net/ipv4/tcp_max_syn_backlog',
}

/** What cannot be found out is `unknown`. */
export function systemLimits(): Record<string, string> {
  const limits = Object.fromEntries(Object.entries(FILES).map(([name, file]) => [name, textOf(file)]))
  return { 'open files': openFiles(), ...limits }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim().replaceAll(/\s+/g, ' ')
  } catch {
    return 'unknown'
  }
}

function openFiles(): string {
  const { stdout, status } = spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : 'unknown'
}
