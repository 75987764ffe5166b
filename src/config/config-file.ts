/** The text of the configuration file, YAML or JSON, and its reading in time that grows with its size and not faster. */
import { readFileSync } from 'node:fs'
import { isScalar, LineCounter, type ParsedNode, parseDocument, visit, YAMLParseError } from 'yaml'

export type ConfigFileContent = Readonly<Record<string, unknown>>

interface ConfigFileReading {
  /** Empty when there is a problem. */
  readonly content: ConfigFileContent
  /** Why it cannot be used; null when it can. */
  readonly problem: string | null
}

const MAX_CHARS = 16 * 1024 * 1024
/** Brackets that may be open at a time. The parser gives up before a thousand, after seconds when there are many more. */
const MAX_OPEN = 500
/** Signs of YAML before one value: the parser takes a time that grows with their square, or nests as deep. */
const MANY_SIGNS = /(?<!\S)(?:(?:[-?]|[&!]\S*)[ \t]+){200}/

export function readConfigFile(path: string): ConfigFileReading {
  try {
    return readConfigText(readFileSync(path, 'utf8'))
  } catch (error) {
    return failed(`cannot be read: ${fileErrorReason(error)}`)
  }
}

export function readConfigText(text: string): ConfigFileReading {
  try {
    const excess = findExcess(text)
    if (excess !== null) return failed(excess)
    const value = parseUnique(text) ?? {}
    if (typeof value === 'object' && !Array.isArray(value))
      return { content: value as ConfigFileContent, problem: null }
    return failed('must hold one object')
  } catch (error) {
    return failed(`cannot be read: ${fileErrorReason(error)}`)
  }
}

function failed(problem: string): ConfigFileReading {
  return { content: {}, problem }
}

/** What would keep the parser busy for long, found by a look at the characters; null when there is nothing of it. */
function findExcess(text: string): string | null {
  if (text.length > MAX_CHARS) return `is longer than ${MAX_CHARS} characters`
  let open = 0
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    open = bracket === '[' || bracket === '{' ? open + 1 : Math.max(0, open - 1)
    if (open > MAX_OPEN) return `opens more than ${MAX_OPEN} brackets within each other`
  }
  return MANY_SIGNS.test(text) ? 'is nested too deeply' : null
}

/**
 * The value of the text. That no key stands twice is checked here: the parser compares each key with all before it,
 * which takes a minute for a hundred thousand of them.
 */
function parseUnique(text: string): unknown {
  const lines = new LineCounter()
  const document = parseDocument(text, { logLevel: 'error', uniqueKeys: false, lineCounter: lines })
  const [error] = document.errors
  if (error !== undefined) throw error
  let repeated: number | null = null
  visit(document, {
    Map: (_key, { items }) => {
      const seen = new Set<string>()
      for (const { key } of items) {
        const name = isScalar(key) ? String(key.value) : null
        if (name === null || !seen.has(name)) {
          if (name !== null) seen.add(name)
          continue
        }
        repeated = (key as ParsedNode).range[0]
        return visit.BREAK
      }
      return
    },
  })
  if (repeated !== null) {
    const { line, col } = lines.linePos(repeated)
    throw new SyntaxError(`duplicate key at line ${line}, column ${col}`)
  }
  return document.toJS()
}

/** The parser's own sentences quote the file, where credentials may stand. Its codes do not. */
function fileErrorReason(error: unknown): string {
  if (error instanceof YAMLParseError) {
    const [from] = error.linePos ?? []
    const place = from === undefined ? '' : ` at line ${from.line}, column ${from.col}`
    return `${error.code.toLowerCase().replaceAll('_', ' ')}${place}`
  }
  if (error instanceof SyntaxError) return error.message
  if (error instanceof Error && 'syscall' in error) return error.message.split('\n')[0]!
  return 'it is no valid YAML'
}
