/** Loops of server tools in a worker: the gateway beneath them, the tools and plugins in them, their money. */
import type { Clock } from '../base/clock.js'
import type { Accounting } from '../gateway/accounting/accounting.js'
import type { GatewayConfig } from '../gateway/catalog/configuration.js'
import type { Gateway } from '../gateway/gateway.js'
import { admitTooling, defaultTooling } from '../gateway/loop/admit-tooling.js'
import { Loops } from '../gateway/loop/loops.js'
import { ReplaySeal } from '../gateway/loop/replay-seal.js'
import type { CountTokens } from '../gateway/metering/format.js'
import { isCompressedUnasked } from '../gateway/plugins/context-compression/context-compression.js'
import { toolSettings } from '../gateway/tools/configuration.js'
import type { Store } from '../store/store.js'
import { composePlugins, composeTools, type ToolParts } from './tools.js'
import { workspaceFiles } from './workspace-files.js'

interface LoopParts extends ToolParts {
  readonly gateway: Gateway
  readonly accounting: Accounting
  readonly clock: Clock
  readonly store: Store
  readonly countTokens: CountTokens
  readonly deadlineMs: number
  /** The configuration of this moment. */
  readonly settings: () => GatewayConfig
  /** Of the data folder. */
  readonly sealingKey: Uint8Array
  readonly onDefect: (error: unknown) => void
}

/** Where the operator says nothing of a tool, and the tool nothing of itself. */
const WALL_CLOCK_MS = 30_000

export function composeLoops(parts: LoopParts): Loops {
  const { gateway, accounting, clock, store, countTokens, deadlineMs, settings, sealingKey, onDefect } = parts
  return new Loops(gateway, {
    clock,
    deadlineMs,
    countTokens,
    onDefect,
    tools: composeTools(parts),
    plugins: composePlugins(parts),
    seal: new ReplaySeal(sealingKey),
    filesOf: workspaceFiles(store),
    admitTooling: (caller, tooling) => admitTooling(settings(), caller, tooling),
    defaultTooling: (caller) => defaultTooling(settings(), caller),
    isCompressedUnasked: (request) => isCompressedUnasked(parts.catalog(), request),
    wallClockMs: (tool) => toolSettings(settings().tools, tool)?.timeoutMs ?? WALL_CLOCK_MS,
    mostCalls: () => settings().tools.maxCalls,
    openAccount: (root) => accounting.openAccount(root),
  })
}
