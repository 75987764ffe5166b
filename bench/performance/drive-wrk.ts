/**
 * Load by wrk, for operations a server answers faster than autocannon can ask (about 95,000/s per core).
 * Limits to know: wrk takes whole seconds, cannot hold its load across the end of a warm-up (warm-up and
 * measurement are two runs), and rewrites its latencies after the run to correct for coordinated omission.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recogniseWrk, type WrkReport } from '../harness/generators/wrk.js'
import type { LoadFigures, LoadJob } from './job.js'
import type { MeasureWindow } from './measure-window.js'
import { wrkScript } from './wrk-script.js'

const TIMEOUT_SECONDS = 30

/** The version line of wrk, or null when the program on the PATH is missing or is wrk2 (same name and banner). */
export function wrkVersion(): string | null {
  const run = spawnSync('wrk', ['--version'], { encoding: 'utf8' })
  const found = recogniseWrk(`${run.stdout ?? ''}${run.stderr ?? ''}`)
  return found?.name === 'wrk' ? found.version : null
}

/** Runs the warm-up, then the measured run; opens and closes the window around the second. */
export async function driveWrk(job: LoadJob, window: MeasureWindow): Promise<LoadFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-wrk-'))
  try {
    const warm = job.warmupSeconds > 0 ? await runWrk(job, job.ids.next, job.warmupSeconds, folder) : null
    window.open()
    const report = await runWrk(job, warm?.next ?? job.ids.next, job.measureSeconds, folder)
    window.close()
    return wrkFigures(report, warm, job)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function wrkFigures(report: WrkReport, warm: WrkReport | null, job: LoadJob): LoadFigures {
  const both = (key: 'connect' | 'read' | 'write' | 'status' | 'timeout') => report[key] + (warm?.[key] ?? 0)
  const ms = (us: number) => us / 1000
  const percentile = (name: string) => ms(report.percentiles[name] ?? 0)
  return {
    completed: report.requests,
    seconds: report.duration / 1e6,
    errors: {
      non2xx: both('status'),
      timeouts: both('timeout'),
      resets: both('connect') + both('read') + both('write'),
      incomplete: bodiesTooShort(report, job) ? report.requests : 0,
    },
    latency: {
      mean: ms(report.mean),
      p50: percentile('p50'),
      p90: percentile('p90'),
      p99: percentile('p99'),
      p99_9: percentile('p99.9'),
      max: ms(report.max),
    },
    histogram: null,
    stream: null,
  }
}

/**
 * wrk would have to call Lua to look into a body, which halves its speed: with it only the mean size of an answer,
 * head and all, is held against the least a body needs. autocannon looks into every one.
 */
function bodiesTooShort({ bytes, requests }: WrkReport, job: LoadJob): boolean {
  const check = job.requests[0]?.answer
  return check?.kind === 'text' && requests > 0 && bytes / requests < check.leastBytes
}

async function runWrk(job: LoadJob, next: number, seconds: number, folder: string): Promise<WrkReport> {
  const script = join(folder, 'load.lua')
  writeFileSync(script, wrkScript(job.requests, { ...job.ids, next }))
  const whole = Math.max(1, Math.ceil(seconds))
  // wrk refuses fewer connections than threads and stops at one core here in any case: one thread.
  const args = [
    '-t1',
    `-c${job.connections}`,
    `-d${whole}s`,
    '--timeout',
    `${TIMEOUT_SECONDS}s`,
    '-s',
    script,
  ]
  const wrk = spawn('wrk', [...args, job.origin], { stdio: ['ignore', 'ignore', 'pipe'] })
  process.once('exit', () => wrk.kill('SIGKILL'))
  let text = ''
  wrk.stderr.on('data', (chunk) => {
    text += chunk
  })
  const [code] = await once(wrk, 'close')
  const line = text.split('\n').find((candidate) => candidate.startsWith('{'))
  if (line === undefined)
    throw new Error(`wrk ended with ${code} and no report: ${text.trim().slice(0, 500)}`)
  return JSON.parse(line) as WrkReport
}
