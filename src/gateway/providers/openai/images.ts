/**
 * Models that make pictures and nothing else, over `POST /images/generations` of an OpenAI-compatible server: asked and
 * answered in chat, the words of the latest user message being the prompt, and `image_config` the options.
 */
import { Fault } from '../../../base/fault.js'
import type { ChatEvent, ChatRequest, Completion, Usage } from '../../formats/canonical.js'
import { contentText } from '../../formats/content-parts.js'
import { isNeverPassed } from '../../formats/extra-members.js'
import { type JsonObject, nonEmptyText, objectsIn } from '../../formats/json-values.js'
import { addExtraMembers, type ProviderServer, type WireObject } from '../http/server.js'
import type { ChatApi, ProviderCall, TargetEndpoint } from '../port/provider.js'
import { parseChatUsage } from './usage.js'

const PICTURES = { parse: parsePictures, missing: 'a body without pictures' }

/** Beside what no caller may say, the question itself, and pieces of a picture that nobody here reads. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['prompt', 'partial_images'])

/** The chat of a server, whose models that only paint are asked where it paints. */
export function withPainters(
  chat: ChatApi,
  server: ProviderServer,
  eventsOf: (completion: Completion) => readonly ChatEvent[],
): ChatApi {
  const paint = server.documentOperation('/images/generations', PICTURES, paintingBody)
  return {
    complete: (call, receiver) => (onlyPaints(call.endpoint) ? paint : chat.complete)(call, receiver),
    stream: (call, receiver) => {
      if (!onlyPaints(call.endpoint)) return chat.stream(call, receiver)
      return paint(call, {
        onEnd: (completion) => {
          for (const event of eventsOf(completion)) receiver.onEvent(event)
          receiver.onEnd()
        },
        onFailure: (failure) => receiver.onFailure(failure),
      })
    },
  }
}

function onlyPaints({ model: { outputModalities } }: TargetEndpoint): boolean {
  return outputModalities?.length === 1 && outputModalities[0] === 'image'
}

function paintingBody({
  request,
  endpoint,
  endUser,
  droppedFields,
}: ProviderCall<ChatRequest>): WireObject | Fault {
  const asked = request.messages.findLast(({ role }) => role === 'user')
  const prompt = contentText(asked?.content)
  if (prompt.trim() === '') return refused('the latest message of the user has no words to paint')
  if (Array.isArray(asked?.content) && asked.content.some(({ type }) => type !== 'text'))
    return refused('a model that only paints takes words alone')
  if (request.messages.length > 1) droppedFields.push('messages')
  const body: WireObject = {}
  for (const [name, value] of Object.entries(request.image_config ?? {})) {
    if (value === null) continue
    if (OWN_MEMBERS.has(name) || isNeverPassed(name)) droppedFields.push('image_config')
    else body[name] = value
  }
  return addExtraMembers({ ...body, model: endpoint.upstreamModel, prompt, user: endUser }, request)
}

function refused(why: string): Fault {
  return new Fault('bad-request', { note: `messages: ${why}`, metadata: { error_type: 'invalid_request' } })
}

/** Null where it holds no picture. */
function parsePictures(body: JsonObject): Completion | null {
  const data = objectsIn(body.data)
  const urls = data.flatMap(({ b64_json, url }) => {
    if (nonEmptyText(b64_json) !== undefined)
      return [`data:${pictureType(b64_json as string)};base64,${b64_json}`]
    return /^https?:\/\//i.test(String(url ?? '')) ? [String(url)] : []
  })
  if (urls.length === 0) return null
  const images = urls.map((url) => ({ type: 'image_url', image_url: { url } }))
  const content = data
    .map(({ revised_prompt: words }) => nonEmptyText(words) ?? '')
    .find((words) => words !== '')
  const message = { role: 'assistant', content: content ?? null, refusal: null, images } as const
  return {
    choices: [{ index: 0, message, finishReason: 'stop', native: null, logprobs: null }],
    usage: paintingUsage(body),
    serviceTier: null,
  }
}

/** Such servers do not say of what kind the tokens of an answer are: they are all of pictures. */
function paintingUsage(body: JsonObject): Usage | null {
  const usage = parseChatUsage(body)
  if (usage === null || usage.completion === 0) return usage
  return { ...usage, details: { ...usage.details, completionImage: usage.completion } }
}

/** By the first characters of the base64. */
function pictureType(base64: string): string {
  if (base64.startsWith('/9j/')) return 'image/jpeg'
  return base64.startsWith('UklGR') ? 'image/webp' : 'image/png'
}
