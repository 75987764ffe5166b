/** Models that run beneath a call of a tool or a step of a plugin, whole, as rows of the same generation. */
import { Fault } from '../../base/fault.js'
import { filesOf } from '../files/file-annotation.js'
import type { ChatEvent, ChatRequest, Completion, RoutedRequest } from '../formats/canonical.js'
import { contentText } from '../formats/content-parts.js'
import { asObject, nonEmptyText } from '../formats/json-values.js'
import { NO_TOOLING } from '../formats/tooling.js'
import type { Generation } from '../run/generation.js'
import type { NestedAnswer, NestedRun, UrlCitation } from '../tools/port/tool.js'
import { chatTurns } from './chat/chat-conversation.js'
import type { LoopSite } from './loop-call.js'
import { LoopRun } from './loop-run.js'
import { prepareTools, type ToolSources, toolRequestFor } from './loop-tools.js'
import { LEFT, OUT_OF_BUDGET } from './turn.js'

/** Loops beneath loops: what runs at this depth has no tools. */
const DEEPEST = 2

/** Runs `run` beneath `outer`. Never rejects: what goes wrong is an answer for the tool. */
export async function runNested(
  sources: ToolSources,
  outer: LoopSite,
  run: NestedRun,
): Promise<NestedAnswer> {
  const depth = outer.depth + 1
  const watcher = new NestedWatcher()
  const failed = (reason: string, message: string, charged: number): NestedAnswer => ({
    ok: false,
    reason,
    message,
    charged,
    wasAsked: watcher.wasAsked,
  })
  if (depth > DEEPEST) return failed('depth', 'no model runs beneath a nested run of a nested run', 0)
  const meter = outer.meter.lend(run.budget)
  try {
    const signal = AbortSignal.any([outer.signal, run.signal])
    const site = { ...outer, meter, depth, purpose: run.purpose, signal }
    return await runWhole(sources, site, run.request, watcher)
  } catch (error) {
    if (!(error instanceof Fault)) outer.call.ports.onDefect(error)
    const fault = error instanceof Fault ? error : new Fault('internal', { cause: error })
    return failed(fault === OUT_OF_BUDGET ? 'budget' : fault.kind, messageOf(fault), meter.spent)
  } finally {
    outer.meter.giveBack(meter)
  }
}

/** Rejects with the fault where nothing was said. */
async function runWhole(
  sources: ToolSources,
  site: LoopSite,
  asked: ChatRequest,
  watcher: NestedWatcher,
): Promise<NestedAnswer> {
  const { call, meter } = site
  const caller = await call.recheck()
  if (caller instanceof Fault) throw caller
  const { tooling = NO_TOOLING, ...own } = asked
  const request = { ...providerRules(call.root.request), ...own }
  const allowed = site.depth < DEEPEST ? tooling : NO_TOOLING
  const plan = call.gateway.planOf(chatTurns.format, request, caller)
  const tools = await prepareTools(
    sources,
    allowed.tools,
    toolRequestFor(plan, caller, () => textsOf(request)),
    functionNames(request),
  )
  try {
    const loop = new LoopRun<ChatRequest, ChatEvent, Completion>(
      site,
      chatTurns,
      request,
      allowed,
      tools,
      caller,
      watcher,
    )
    const { how, fault } = await loop.run()
    call.loop.pipeline.push(...loop.calls.stages)
    // What was said before a later turn failed is an answer all the same.
    const isAnswer = loop.conversation.text() !== '' && fault !== LEFT && fault !== OUT_OF_BUDGET
    if (fault !== null && !isAnswer) throw fault
    loop.conversation.end(how, fault ?? undefined)
    const { message, finishReason } = loop.conversation.answer().choices[0]!
    const text = message.content ?? ''
    return {
      ok: true,
      text,
      reasoning: message.reasoning ?? '',
      model: watcher.model,
      finish: finishReason,
      charged: meter.spent,
      citations: citationsOf(message.annotations),
      images: picturesOf(message.images),
      files: filesOf(message.annotations),
    }
  } finally {
    await tools.close()
  }
}

/** Of what a caller wants of providers only that what holds for any model; the rest was said of another one. */
function providerRules({ provider }: RoutedRequest): Pick<RoutedRequest, 'provider'> {
  const { data_collection, zdr, enforce_distillable_text, ignore } = provider ?? {}
  const rules = Object.entries({ data_collection, zdr, enforce_distillable_text, ignore }).filter(
    ([, value]) => value !== undefined,
  )
  return rules.length === 0 ? {} : { provider: Object.fromEntries(rules) }
}

/** Nobody watches a nested run; only the model that has answered is of interest, and whether one was asked. */
class NestedWatcher {
  model = ''
  wasAsked = false
  onRequestSent(): void {}
  onEvent(): void {}
  onFlush(): void {}
  onProgress(): void {}

  onTurnOver({ attemptedAt }: Pick<Generation, 'attemptedAt'>): void {
    this.wasAsked ||= attemptedAt > 0
  }

  onServed({ served }: Pick<Generation, 'served'>): void {
    this.model = served?.model.id ?? this.model
  }
}

/** What a tool may tell its model of a fault: nothing of its cause. */
function messageOf({ note, kind }: Fault): string {
  return note ?? kind
}

function citationsOf(annotations: Completion['choices'][number]['message']['annotations']): UrlCitation[] {
  return (annotations ?? []).flatMap(({ url_citation: cited }) =>
    typeof cited === 'object' && cited !== null ? [cited as UrlCitation] : [],
  )
}

function picturesOf(images: Completion['choices'][number]['message']['images']): string[] {
  return (images ?? []).flatMap(({ image_url: link }) => nonEmptyText(asObject(link)?.url) ?? [])
}

/** Names of the functions that a request brings itself, in either format. */
export function functionNames(request: object): ReadonlySet<string> {
  const names = new Set<string>()
  const { tools = [] } = request as { readonly tools?: readonly NamedTool[] }
  for (const tool of tools) {
    const name = tool.function?.name ?? tool.name
    if (name !== undefined) names.add(name)
  }
  return names
}

interface NamedTool {
  readonly name?: string
  readonly function?: { readonly name?: string }
}

/** Texts of a conversation, for rules that look there. */
export function textsOf({ messages }: ChatRequest): readonly string[] {
  return messages.map(({ content }) => contentText(content))
}
