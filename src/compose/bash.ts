/** Puts the sandbox of a worker together, where the operator has turned it on; its code is loaded only then. */
import { join } from 'node:path'
import { unixMs } from '../base/clock.js'
import type { GatewayConfig } from '../gateway/catalog/configuration.js'
import { type BashSettings, createBashTool } from '../gateway/tools/bash/bash.js'
import type { LocalSandbox, LocalSandboxOptions } from '../gateway/tools/bash/local/local-sandbox.js'
import type { Sandbox } from '../gateway/tools/bash/sandbox.js'
import type { ServerTool } from '../gateway/tools/port/tool.js'
import { fileAddressGuard, nameResolver } from '../upstream/address-guard.js'
import { createUpstreamClient } from '../upstream/client.js'
import type { WorkerContext } from './worker-context.js'
import { workspaceOf } from './workspace-files.js'

type BashContext = Pick<WorkerContext, 'config' | 'clock' | 'log' | 'store'>
type BashConfig = GatewayConfig['tools']['bash']

const MIB = 2 ** 20
/** Of the machine, where the server is root and nothing is configured: a number that no user has. */
const SANDBOX_UID = 64_321

export function composeBash(context: BashContext) {
  const { log, store } = context
  let config = context.config.gateway
  let opened = openSandbox(context, config)
  const parts = {
    settings: () => bashSettings(config.tools.bash),
    sandbox: () => opened.sandbox,
    workspaceOf: (caller: Parameters<typeof workspaceOf>[0]) => workspaceOf(caller, store),
    onDefect: (err: unknown): void => log.error({ err }, 'a defect of the sandbox; the call was ended'),
  }
  const tools: readonly ServerTool[] = [createBashTool('bash', parts), createBashTool('shell', parts)]
  return {
    tools,
    /** Commands under way end with the sandbox they began in. */
    configure: (renewed: GatewayConfig): void => {
      const isSame = JSON.stringify(renewed.tools.bash) === JSON.stringify(config.tools.bash)
      config = renewed
      if (isSame) return
      const former = opened
      opened = openSandbox(context, config)
      former.retire().catch(parts.onDefect)
    },
    close: () => opened.close(),
  }
}

function bashSettings({ allowedDomains, maxOutputBytes, maxFileMib }: BashConfig): BashSettings {
  return { allowedDomains, maxOutputBytes, maxFileBytes: maxFileMib * MIB }
}

interface OpenedSandbox {
  /** Or why there is none. */
  readonly sandbox: Promise<Sandbox | string>
  /** When what runs is over. */
  retire(): Promise<void>
  /** Now. */
  close(): Promise<void>
}

function openSandbox(context: BashContext, config: GatewayConfig): OpenedSandbox {
  const { enabled, url, apiKeyEnv } = config.tools.bash
  if (enabled !== true) return without('is off: set tools.bash.enabled')
  if (url === null) return openLocal(context, config.tools.bash)
  const credential = apiKeyEnv === null ? null : (config.credentials[apiKeyEnv] ?? null)
  const onDefect = (err: unknown): void =>
    context.log.error({ err }, 'a defect while a remote sandbox answered; the call was ended')
  const upstream = createUpstreamClient({ onDefect })
  const sandbox = import('../gateway/tools/bash/remote-sandbox.js').then(
    ({ RemoteSandbox }) => new RemoteSandbox({ url, credential, upstream }),
  )
  const close = async (): Promise<void> => {
    await (await sandbox).close()
    await upstream.close()
  }
  return { sandbox, retire: nothing, close }
}

const nothing = async (): Promise<void> => {}

function without(reason: string): OpenedSandbox {
  return { sandbox: Promise.resolve(reason), retire: nothing, close: nothing }
}

/** The machine is looked at once, when the server starts: a sandbox that would promise less is none. */
function openLocal(context: BashContext, config: BashConfig): OpenedSandbox {
  const options = localOptions(context, config)
  const closing = new AbortController()
  const local = loadLocal(context, options, closing.signal).catch((err: unknown) => {
    context.log.error({ err }, 'the sandbox could not be opened')
    return 'is not available: the sandbox could not be opened'
  })
  return {
    sandbox: local,
    retire: async () => {
      const sandbox = await local
      if (typeof sandbox !== 'string') await sandbox.retire()
    },
    close: async () => {
      closing.abort() // the look at the machine takes many seconds where much else is done
      const sandbox = await local
      if (typeof sandbox !== 'string') await sandbox.close()
    },
  }
}

/** What this machine lacks for a sandbox of its own, a sentence each. Takes as long as one takes to start. */
export async function missingForLocalSandbox(
  context: Pick<BashContext, 'config' | 'clock'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { missingForSandbox } = await import('../gateway/tools/bash/local/start-check.js')
  const options = localOptions(context, context.config.gateway.tools.bash)
  return missingForSandbox({ ...options, hidden: [context.config.dataDir], signal })
}

async function loadLocal(
  { config, log }: BashContext,
  options: LocalSandboxOptions,
  signal: AbortSignal,
): Promise<LocalSandbox | string> {
  const { missingForSandbox } = await import('../gateway/tools/bash/local/start-check.js')
  const missing = await missingForSandbox({ ...options, hidden: [config.dataDir], signal })
  if (signal.aborted) return 'is not available: the server is stopping'
  if (missing.length > 0) {
    log.error({ missing }, 'tools.bash: this machine cannot hold a sandbox; the tool is refused')
    return `is not available: ${missing.join('; ')}`
  }
  const { LocalSandbox } = await import('../gateway/tools/bash/local/local-sandbox.js')
  return new LocalSandbox(options)
}

function localOptions(
  { config, clock }: Pick<BashContext, 'config' | 'clock'>,
  bash: BashConfig,
): LocalSandboxOptions {
  const diskBytes = bash.diskMib * MIB
  return {
    folder: join(config.dataDir, 'sandbox'),
    uid: process.getuid?.() === 0 ? (bash.uid ?? SANDBOX_UID) : null,
    limits: {
      ...{ diskBytes, fileBytes: diskBytes, files: bash.files, memoryBytes: bash.memoryMib * MIB },
      ...{ processes: bash.processes, openFiles: OPEN_FILES, cpuSeconds: bash.cpuSeconds },
    },
    containers: {
      lifetimeMs: bash.containerMinutes * 60_000,
      ...{ perOrganization: bash.containersPerOrganization, inAll: bash.containers },
    },
    runs: { perOrganization: bash.runsPerOrganization, inAll: bash.runs },
    egress: {
      guard: fileAddressGuard(config.allowLoopbackFiles),
      resolve: nameResolver(),
      bounds: {
        ...{ bytes: bash.egressMib * MIB, connections: bash.egressConnections },
        ...{ connectMs: 5_000, ports: [80, 443] },
      },
    },
    unixMs: () => unixMs(clock),
  }
}

/** Of each process; programs that need more are servers. */
const OPEN_FILES = 128
