/** Asks a server tool as the loop does, without a loop. */
import type { Principal } from '../../../src/base/principal.js'
import type { JsonObject } from '../../../src/gateway/formats/json-values.js'
import type { RequestedTool } from '../../../src/gateway/formats/tooling.js'
import type {
  NestedAnswer,
  NestedRun,
  PreparedTool,
  ServerTool,
  ToolOutcome,
  ToolRefusal,
  ToolRequest,
  ToolRun,
} from '../../../src/gateway/tools/port/tool.js'
import { NO_FILES } from '../data/no-files.js'

export const CALLER: Principal = Object.freeze({
  keyHash: '0'.repeat(64),
  kind: 'workspace',
  organizationId: 'org-1',
  workspaceId: 'ws-1',
  operator: false,
})

export const REQUEST: ToolRequest = {
  caller: CALLER,
  isSimulated: false,
  contextLength: 128_000,
  conversationTexts: () => [],
}

export function requested(name: string, parameters: JsonObject = {}): RequestedTool {
  return { name, parameters, type: `service:${name}`, place: ['tools', 0], isNative: false }
}

/** Throws where the tool refuses. */
export async function prepared(
  tool: ServerTool,
  parameters: JsonObject = {},
  request: Partial<ToolRequest> = {},
): Promise<PreparedTool> {
  const ready = await tool.prepare(requested(tool.name, parameters), { ...REQUEST, ...request })
  if ('refused' in ready) throw new Error(`refused: ${ready.refused}`)
  return ready
}

/** Throws where the tool can be had. */
export async function refusalOf(
  tool: ServerTool,
  parameters: JsonObject,
  request: Partial<ToolRequest> = {},
): Promise<ToolRefusal> {
  const ready = await tool.prepare(requested(tool.name, parameters), { ...REQUEST, ...request })
  if ('refused' in ready) return ready
  throw new Error('was not refused')
}

export function toolRun(run: Partial<ToolRun> = {}): ToolRun {
  return {
    caller: CALLER,
    signal: new AbortController().signal,
    deadlineAt: Number.POSITIVE_INFINITY,
    depth: 0,
    budget: Number.POSITIVE_INFINITY,
    request: { model: 'm/outer', messages: [] },
    files: NO_FILES,
    nested: async (): Promise<NestedAnswer> => ({
      ok: false,
      reason: 'unexpected',
      message: 'nothing runs beneath it here',
      charged: 0,
      wasAsked: false,
    }),
    ...run,
  }
}

/** Calls the tool's first function, or the one that is named. */
export async function askTool(
  tool: ServerTool,
  parameters: JsonObject = {},
  args: JsonObject = {},
  run: Partial<ToolRun> = {},
): Promise<ToolOutcome> {
  const ready = await prepared(tool, parameters)
  return ready.run({ id: 'call_1', function: ready.functions[0]!.name, arguments: args }, toolRun(run))
}

/** Nested runs that answer what `script` says, kept in order. */
export function scriptedNested(script: (run: NestedRun) => Partial<NestedAnswer> & { text?: string }): {
  readonly runs: NestedRun[]
  nested(run: NestedRun): Promise<NestedAnswer>
} {
  const runs: NestedRun[] = []
  return {
    runs,
    nested: async (run) => {
      runs.push(run)
      const answer = {
        ...{ ok: true, text: '', reasoning: '', finish: 'stop', charged: 0, citations: [] },
        model: run.request.model,
        ...script(run),
      }
      return answer as NestedAnswer
    },
  }
}
