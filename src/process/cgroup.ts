/** What the control group of this process leaves it of the machine's processors. */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'

type ReadText = (path: string) => string

const readText: ReadText = (path) => readFileSync(path, 'latin1')

/**
 * Processors by the quota of the group or of one that it lies in, whichever is smallest; null without a quota, and where
 * it cannot be known. Kernel interface: cgroup-v2 (`cpu.max`) and sched-bwc (`cpu.cfs_quota_us`).
 */
export function cpuQuota(read: ReadText = readText): number | null {
  const groups = textOrEmpty(read, '/proc/self/cgroup')
  const [, ofTwo] = /^0::(\/.*)$/m.exec(groups) ?? []
  const [, ofOne] = /^\d+:(?:[^:]*,)?cpu(?:,[^:]*)?:(\/.*)$/m.exec(groups) ?? []
  const quotas = [
    ...ancestors(ofTwo).map((path) => quotaOfTwo(read, join('/sys/fs/cgroup', path))),
    ...ancestors(ofOne).map((path) => quotaOfOne(read, join('/sys/fs/cgroup/cpu', path))),
  ].filter((quota) => quota !== null)
  return quotas.length === 0 ? null : Math.min(...quotas)
}

/** Cores that the processes of a group can use: whole ones, at least one. */
export function usableCores(cores = availableParallelism(), quota = cpuQuota()): number {
  return quota === null ? cores : Math.max(1, Math.min(cores, Math.floor(quota)))
}

/** A path and those above it. In a container the path may be one of its host, which is not mounted. */
function ancestors(path: string | undefined): string[] {
  if (path === undefined) return []
  return path === '/' ? [path] : [path, ...ancestors(dirname(path))]
}

function quotaOfTwo(read: ReadText, folder: string): number | null {
  const [quota = '', period = ''] = textOrEmpty(read, join(folder, 'cpu.max')).trim().split(' ')
  return ratio(Number(quota), Number(period))
}

function quotaOfOne(read: ReadText, folder: string): number | null {
  const quota = Number(textOrEmpty(read, join(folder, 'cpu.cfs_quota_us')))
  return ratio(quota, Number(textOrEmpty(read, join(folder, 'cpu.cfs_period_us'))))
}

/** `max` and -1 are no quota. */
function ratio(quota: number, period: number): number | null {
  return quota > 0 && period > 0 ? quota / period : null
}

function textOrEmpty(read: ReadText, path: string): string {
  try {
    return read(path)
  } catch {
    return ''
  }
}
