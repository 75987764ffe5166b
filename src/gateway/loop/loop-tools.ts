/** The server tools of one loop, readied for its request. */
import { Fault, ValidationIssue } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { RequestedTool } from '../formats/tooling.js'
import type { Plan } from '../routing/plan.js'
import type {
  NestedAnswer,
  NestedRun,
  PreparedTool,
  ServerTool,
  ToolRefusal,
  ToolRequest,
} from '../tools/port/tool.js'
import type { LoopSite } from './loop-call.js'
import type { OfferedFunction } from './turn-format.js'

/** A function that the model may call, and what runs it. */
export interface ReadyFunction {
  readonly offered: OfferedFunction
  readonly prepared: PreparedTool
}

export interface LoopTools {
  readonly offered: readonly OfferedFunction[]
  /** By the name that the model calls. */
  readonly byName: ReadonlyMap<string, ReadyFunction>
  /** Runs a model beneath a call. Never rejects. */
  readonly runNested: (site: LoopSite, run: NestedRun) => Promise<NestedAnswer>
  /** After the last call; never rejects. */
  close(): Promise<void>
}

export interface ToolSources {
  readonly tools: ReadonlyMap<string, ServerTool>
  readonly runNested: LoopTools['runNested']
  readonly onDefect: (error: unknown) => void
}

/** Server tools of one request: each may ask a server of its own what it offers. */
const MOST_TOOLS = 64

/**
 * Readies the tools that a request names, all at once. `taken`: names of the caller's own functions. Rejects with `invalid-input`
 * for the first one that cannot be had; then none is left open.
 */
export async function prepareTools(
  { tools, runNested, onDefect }: ToolSources,
  wanted: readonly RequestedTool[],
  request: ToolRequest,
  taken: ReadonlySet<string>,
): Promise<LoopTools> {
  const extra = wanted[MOST_TOOLS]
  if (extra !== undefined)
    throw refuse(extra, { refused: `is one too many: at most ${MOST_TOOLS} may be named`, member: ['type'] })
  const asked = await Promise.allSettled(wanted.map((tool) => prepareTool(tools, tool, request)))
  const ready = asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const close = async (): Promise<void> => {
    for (const { prepared } of ready) {
      try {
        await prepared.close?.()
      } catch (error) {
        onDefect(error)
      }
    }
  }
  const failed = asked.find((each) => each.status === 'rejected')
  if (failed !== undefined) {
    await close()
    throw failed.reason
  }
  const byName = new Map<string, ReadyFunction>()
  for (const { tool, prepared } of ready) {
    for (const offered of prepared.functions) {
      const name = freeName(offered.name, (each) => taken.has(each) || byName.has(each))
      byName.set(name, { prepared, offered: { name, tool, function: offered } })
    }
  }
  return { byName, offered: [...byName.values()].map(({ offered }) => offered), runNested, close }
}

async function prepareTool(
  tools: ToolSources['tools'],
  tool: RequestedTool,
  request: ToolRequest,
): Promise<{ readonly tool: RequestedTool; readonly prepared: PreparedTool }> {
  const server = tools.get(tool.name)
  if (server === undefined)
    throw refuse(tool, { refused: 'is not supported by this gateway', member: ['type'] })
  const prepared = await server.prepare(tool, request)
  if ('refused' in prepared) throw refuse(tool, prepared)
  return { tool, prepared }
}

/** Where neither endpoint nor model says how much it takes. */
const USUAL_CONTEXT = 32_768

/** What a tool may know of a request that is served by `plan`. */
export function toolRequestFor(
  plan: Plan,
  caller: Principal,
  conversationTexts: () => readonly string[],
): ToolRequest {
  return { caller, conversationTexts, ...planFacts(plan) }
}

/** Of the models that would serve. */
export function planFacts({ endpoints }: Plan): Pick<ToolRequest, 'isSimulated' | 'contextLength'> {
  const { contextLength, model } = endpoints[0]!
  return {
    isSimulated: endpoints.every(({ simulation }) => simulation !== null),
    contextLength: contextLength ?? model.contextLength ?? USUAL_CONTEXT,
  }
}

/** A function of the caller's keeps its name; ours gets another one where it is the same. */
function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name
  for (let at = 1; isTaken(free); at++) free = `service_${at === 1 ? '' : at}${name}`.slice(0, LONGEST_NAME)
  return free
}

/** Providers take no longer names of functions. */
const LONGEST_NAME = 64

/**
 * The refusal of a tool or a plugin, naming the member. A tool with a date has its parameters beside its type; what a model's name
 * asks for (`:online`) has none.
 */
export function refuse(
  { place, isNative = false }: Pick<RequestedTool, 'place'> & Partial<Pick<RequestedTool, 'isNative'>>,
  { refused, member = [] }: ToolRefusal,
): Fault {
  const own = isNative && member[0] === 'parameters' ? member.slice(1) : member
  const named = place[0] === 'model' ? [] : own
  const issue = new ValidationIssue(['body', ...place, ...named], 'other', undefined, refused)
  return new Fault('invalid-input', { issues: [issue] })
}
