/**
 * The commands by which a model keeps texts: `view`, `create`, `str_replace`, `insert`, `delete` and `rename`, with the
 * arguments that models have learnt for them. Places are written as paths; a folder is what stands before a slash.
 */
import type { JsonObject } from '../../formats/json-values.js'

/** The texts of one workspace, within one transaction. */
export interface EditableTexts {
  get(key: string): string | null
  list(): readonly { readonly key: string; readonly bytes: number }[]
  /** False for what can be no key, and where there is no room. */
  put(key: string, text: string): boolean
  remove(key: string): void
  /** Gives a text another key, which no text has. */
  move(key: string, target: string): void
}

/** What came of a command: what to tell the model, or why it was not done. */
type CommandResult = { readonly output: string } | { readonly error: string }

/** Where a model may keep texts, and how it writes that. */
export interface TextRoot {
  /** Begins every key; `''` or ends in `/`. */
  readonly prefix: string
  /** The path that stands for all of it. */
  readonly path: string
  /** The commands that the model may give. */
  readonly commands: readonly CommandName[]
  /** Most characters of a text that are shown at once. */
  readonly mostShown: number
}

/** Commands that only look. */
export function isReading(args: JsonObject): boolean {
  return args.command === 'view'
}

/** Does what the arguments of a call say. Never throws. */
export function runCommand(texts: EditableTexts, args: JsonObject, root: TextRoot): CommandResult {
  const name = root.commands.find((each) => each === args.command)
  if (name === undefined) return { error: `command must be one of ${root.commands.join(', ')}` }
  try {
    return { output: COMMANDS[name]({ texts, args, root }) }
  } catch (error) {
    if (error instanceof Refusal) return { error: error.message }
    throw error
  }
}

/** Why a command is not carried out, in words for the model. Caught in this file. */
class Refusal extends Error {}

interface Call {
  readonly texts: EditableTexts
  readonly args: JsonObject
  readonly root: TextRoot
}

const COMMANDS = { view, create, str_replace: replace, insert, delete: remove, rename } satisfies Readonly<
  Record<string, (call: Call) => string>
>

export type CommandName = keyof typeof COMMANDS

// ── The commands ────────────────────────────────────────────────────────────────

function view(call: Call): string {
  const { texts, args, root } = call
  const { key, path } = placeIn(call, 'path')
  const text = key === '' ? null : texts.get(key)
  if (text === null) return listFolder(call, key, path)
  const lines = text.split('\n')
  const [first, last] = viewedLines(args.view_range, lines.length)
  return `${path}, ${lines.length} lines:\n${numbered(lines, [first, last], root)}`
}

function create(call: Call): string {
  const { key, path } = textPlaceIn(call, 'path')
  const text = stringIn(call.args, 'file_text')
  if (call.texts.get(key) !== null) throw new Refusal(`${path} exists already: change it, or delete it first`)
  refuseFolder(call, key, path)
  store(call, key, text)
  return `Created ${path}`
}

function replace(call: Call): string {
  const { key, path, text } = existingText(call, 'path')
  const old = stringIn(call.args, 'old_str')
  const next = call.args.new_str === undefined ? '' : stringIn(call.args, 'new_str')
  if (old === '') throw new Refusal('old_str must not be empty')
  const [at, ...others] = placesOf(old, text)
  if (at === undefined) throw new Refusal(`old_str does not stand in ${path}: nothing was replaced`)
  if (others.length > 0) {
    const lines = [at, ...others].map((place) => lineAt(text, place)).join(', ')
    throw new Refusal(`old_str stands in ${path} more than once, in lines ${lines}: make it longer`)
  }
  const changed = text.slice(0, at) + next + text.slice(at + old.length)
  store(call, key, changed)
  const line = lineAt(text, at)
  return `Changed ${path}:\n${around(changed, line, lineAt(next, next.length), call.root)}`
}

function insert(call: Call): string {
  const { key, path, text } = existingText(call, 'path')
  const { args } = call
  const added = stringIn(args, args.insert_text === undefined ? 'new_str' : 'insert_text')
  const lines = text === '' ? [] : text.split('\n')
  const at = args.insert_line
  if (typeof at !== 'number' || !Number.isInteger(at) || at < 0 || at > lines.length)
    throw new Refusal(`insert_line must be a line after which to insert, from 0 to ${lines.length}`)
  const news = added.replace(/\n$/, '').split('\n')
  const changed = [...lines.slice(0, at), ...news, ...lines.slice(at)].join('\n')
  store(call, key, changed)
  return `Changed ${path}:\n${around(changed, at + 1, news.length, call.root)}`
}

function remove(call: Call): string {
  const { key, path } = textPlaceIn(call, 'path')
  const keys = keysAt(call, key)
  if (keys.length === 0) throw new Refusal(`${path} does not exist`)
  for (const each of keys) call.texts.remove(each)
  return `Deleted ${path}`
}

/** Of a text, or of a folder with all in it. */
function rename(call: Call): string {
  const from = textPlaceIn(call, call.args.old_path === undefined ? 'path' : 'old_path')
  const to = textPlaceIn(call, 'new_path')
  const keys = keysAt(call, from.key)
  if (keys.length === 0) throw new Refusal(`${from.path} does not exist`)
  if (keysAt(call, to.key).length > 0) throw new Refusal(`${to.path} exists already`)
  refuseFolder(call, to.key, to.path)
  const moved = keys.map((key) => ({ key, target: to.key + key.slice(from.key.length) }))
  // All are judged before one is moved: a transaction that returns is kept.
  if (`${to.key}/`.startsWith(`${from.key}/`)) throw new Refusal(`${to.path} lies in ${from.path}`)
  if (moved.some(({ target }) => target.length > LONGEST_KEY)) throw new Refusal(TOO_LONG)
  for (const { key, target } of moved) call.texts.move(key, target)
  return `Renamed ${from.path} to ${to.path}`
}

// ── Places ──────────────────────────────────────────────────────────────────────

const LONGEST_KEY = 256
const TOO_LONG = `a path may have ${LONGEST_KEY} characters`

interface Place {
  /** `''`: all of the root. */
  readonly key: string
  /** As the model should write it. */
  readonly path: string
}

/** The place that a member names. A path need not begin with that of the root. */
function placeIn({ args, root }: Call, member: string): Place {
  const said = stringIn(args, member)
  const inner = said.replace(/^\/+|\/+$/g, '')
  const own = root.path.slice(1)
  const isWhole = own !== '' && (inner === own || inner.startsWith(`${own}/`))
  const rest = isWhole ? inner.slice(own.length + 1) : inner
  if (rest === '') return { key: '', path: root.path }
  const key = root.prefix + rest
  const isPlain = /^[\w./-]+$/.test(rest) && rest.split('/').every((part) => !/^\.{0,2}$/.test(part))
  if (!isPlain)
    throw new Refusal(`${member} must be made of letters, digits, "_", "-", "." and "/", without ".."`)
  if (key.length > LONGEST_KEY) throw new Refusal(TOO_LONG)
  return { key, path: own === '' ? `/${rest}` : `${root.path}/${rest}` }
}

function textPlaceIn(call: Call, member: string): Place {
  const place = placeIn(call, member)
  if (place.key === '') throw new Refusal(`${member} must name a text or a folder within ${place.path}`)
  return place
}

function existingText(call: Call, member: string): Place & { readonly text: string } {
  const place = textPlaceIn(call, member)
  const text = call.texts.get(place.key)
  if (text !== null) return { ...place, text }
  const isFolder = keysAt(call, place.key).length > 0
  throw new Refusal(isFolder ? `${place.path} is a folder` : `${place.path} does not exist`)
}

/** The text of that key, or those within the folder. */
function keysAt({ texts }: Call, key: string): readonly string[] {
  return texts
    .list()
    .map((each) => each.key)
    .filter((each) => each === key || each.startsWith(`${key}/`))
}

/** A text can neither stand where a folder is, nor within another text. */
function refuseFolder(call: Call, key: string, path: string): void {
  if (keysAt(call, key).some((each) => each !== key)) throw new Refusal(`${path} is a folder`)
  const parts = key.split('/')
  for (let depth = 1; depth < parts.length; depth++) {
    const above = parts.slice(0, depth).join('/')
    if (call.texts.get(above) !== null) throw new Refusal(`${path} would lie in a text`)
  }
}

function store({ texts }: Call, key: string, text: string): void {
  if (!texts.put(key, text)) throw new Refusal('there is no room for it: delete something first')
}

const DEPTH_SHOWN = 2
const MOST_LISTED = 200

/** What a folder holds, two levels deep, each with its bytes. */
function listFolder({ texts, root }: Call, key: string, path: string): string {
  const prefix = key === '' ? root.prefix : `${key}/`
  const inside = texts.list().filter((each) => each.key.startsWith(prefix))
  if (key !== '' && inside.length === 0) throw new Refusal(`${path} does not exist`)
  const sizes = new Map<string, number>()
  for (const { key: each, bytes } of inside) {
    const parts = each.slice(prefix.length).split('/')
    for (let depth = 1; depth <= Math.min(parts.length, DEPTH_SHOWN); depth++) {
      const name = parts.slice(0, depth).join('/') + (depth < parts.length ? '/' : '')
      sizes.set(name, (sizes.get(name) ?? 0) + bytes)
    }
  }
  const base = path === '/' ? '' : path
  const lines = [...sizes].sort(([one], [other]) => (one < other ? -1 : 1))
  const listed = lines.slice(0, MOST_LISTED).map(([name, bytes]) => `${bytes} bytes\t${base}/${name}`)
  if (lines.length > MOST_LISTED)
    listed.push(`[and ${lines.length - MOST_LISTED} more: view a folder within]`)
  return `${path}${listed.length === 0 ? ' is empty' : ` holds:\n${listed.join('\n')}`}`
}

// ── Lines ───────────────────────────────────────────────────────────────────────

const LINES_AROUND = 4
const MOST_CHANGED = 50

function viewedLines(range: unknown, count: number): readonly [number, number] {
  if (range === undefined || range === null) return [1, count]
  const [first, last] = Array.isArray(range) ? (range as unknown[]) : []
  const isRange =
    Number.isInteger(first) && Number.isInteger(last) && Array.isArray(range) && range.length === 2
  const [from, to] = [first as number, last === -1 ? count : (last as number)]
  if (!isRange || from < 1 || from > count || to < from)
    throw new Refusal(`view_range must be two lines from 1 to ${count}, or -1 for the last one`)
  return [from, Math.min(to, count)]
}

/** Lines with their numbers, as many characters of them as may be shown. */
function numbered(
  lines: readonly string[],
  [first, last]: readonly [number, number],
  { mostShown }: TextRoot,
): string {
  let shown = ''
  for (let line = first; line <= last && shown.length <= mostShown; line++)
    shown += `${line === first ? '' : '\n'}${String(line).padStart(6)}\t${lines[line - 1]!}`
  if (shown.length <= mostShown) return shown
  return `${shown.slice(0, mostShown).toWellFormed()}\n[cut after ${mostShown} characters: use view_range]`
}

/** The changed lines and some around them. */
function around(text: string, line: number, count: number, root: TextRoot): string {
  const lines = text.split('\n')
  const last = line + Math.min(count, MOST_CHANGED) + LINES_AROUND
  return numbered(lines, [Math.max(1, line - LINES_AROUND), Math.min(last, lines.length)], root)
}

/** The line, counted from 1, that a place in a text stands in. */
function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

const MOST_PLACES = 20

/**
 * The first places where a part stands in a text, in linear time (Knuth, Morris, Pratt). `indexOf` takes seconds for a
 * long part and a text that are made for it, and a transaction keeps all other writers waiting.
 */
function placesOf(part: string, text: string): readonly number[] {
  if (part.length > text.length) return []
  /** How much of the beginning of the part its characters up to here end with. */
  const borders = new Uint32Array(part.length)
  const advance = (matched: number, code: number): number => {
    let length = matched
    while (length > 0 && (length === part.length || part.charCodeAt(length) !== code))
      length = borders[length - 1]!
    return part.charCodeAt(length) === code ? length + 1 : length
  }
  for (let at = 1; at < part.length; at++) borders[at] = advance(borders[at - 1]!, part.charCodeAt(at))
  const places: number[] = []
  for (let at = 0, matched = 0; at < text.length && places.length < MOST_PLACES; at++) {
    matched = advance(matched, text.charCodeAt(at))
    if (matched === part.length) places.push(at - part.length + 1)
  }
  return places
}

function stringIn(args: JsonObject, member: string): string {
  const value = args[member]
  if (typeof value !== 'string') throw new Refusal(`${member} must be a text`)
  return value.toWellFormed()
}
