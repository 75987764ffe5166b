/** A sandbox of this machine for a test, in a folder of its own. */
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  LocalSandbox,
  type LocalSandboxOptions,
} from '../../../src/gateway/tools/bash/local/local-sandbox.js'
import { missingForSandbox } from '../../../src/gateway/tools/bash/local/start-check.js'
import type { SandboxCommand, SandboxRun } from '../../../src/gateway/tools/bash/sandbox.js'

const MIB = 2 ** 20
export const OWNER = { organizationId: 'org-1', workspaceId: 'ws-1' }
/**
 * Nobody else's, not even of a test file that runs at the same time, so that what is left of a sandbox can be found and
 * each has its own number of processes. Null where tests are not run by root.
 */
const SANDBOX_UID = process.getuid?.() === 0 ? 100_000 + process.pid : null

export const LIMITS: LocalSandboxOptions['limits'] = {
  ...{ diskBytes: 32 * MIB, fileBytes: 32 * MIB, files: 2_000, memoryBytes: 256 * MIB },
  ...{ processes: 48, openFiles: 128, cpuSeconds: 20 },
}

/** Why there is no sandbox on this machine, in one line; null where there is one. */
export async function whyNoSandbox(): Promise<string | null> {
  const missing = await missingForSandbox({ uid: SANDBOX_UID, limits: LIMITS, hidden: [] })
  return missing.length === 0 ? null : `no sandbox here: ${missing.join('; ')}`
}

export interface SandboxStage {
  readonly sandbox: LocalSandbox
  readonly folder: string
  /** Runs a command in a container, by default one of its own. */
  run(
    command: string,
    options?: Partial<SandboxCommand> & { readonly container?: string },
  ): Promise<SandboxRun & { readonly container: { readonly id: string } }>
  close(): Promise<void>
}

export async function openSandboxStage(options: Partial<LocalSandboxOptions> = {}): Promise<SandboxStage> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-sandbox-test-'))
  const sandbox = new LocalSandbox({
    ...{ folder, uid: SANDBOX_UID, limits: LIMITS, egress: null, unixMs: Date.now },
    containers: { lifetimeMs: 1_200_000, perOrganization: 100, inAll: 200 },
    runs: { perOrganization: 4, inAll: 8 },
    ...options,
  })
  return {
    sandbox,
    folder,
    run: async (command, { container, ...asked } = {}) => {
      const id = container ?? (await sandbox.create(OWNER)).id
      const whole = { command, timeoutMs: 120_000, maxOutputBytes: 16_384, allowedDomains: [], ...asked }
      return sandbox.run(OWNER, id, whole, new AbortController().signal)
    },
    close: async () => {
      await sandbox.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Processes of the machine that a sandbox has left, as `pid name`: those beneath this process, and those of its uid. */
export function leftProcesses(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const status = textOf(`/proc/${pid}/status`)
      const field = (name: string): string => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1] ?? ''
      const isOurs = SANDBOX_UID !== null && field('Uid') === String(SANDBOX_UID)
      const isChild =
        field('PPid') === String(process.pid) && /^(?:bwrap|bash|unshare|chrt)$/.test(field('Name'))
      return isOurs || isChild ? [`${pid} ${field('Name')}`] : []
    })
}

/** Mounts of this process, sorted. */
export function ownMounts(): string[] {
  return textOf('/proc/self/mountinfo').split('\n').sort()
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
