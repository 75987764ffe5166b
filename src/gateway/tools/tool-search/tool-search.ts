/** Finds tools that a request defers, by a regular expression or by words (contract/tools 3.9). */
import type {
  PreparedTool,
  ServerTool,
  ToolCallInput,
  ToolFunction,
  ToolOutcome,
  ToolRun,
} from '../port/tool.js'
import { findByPattern } from './by-pattern.js'
import { rankByWords } from './by-words.js'
import { searchedText } from './searched-text.js'

const DEFAULT_RESULTS = 5

type Variant = 'regex' | 'bm25'

const QUERIES: Readonly<Record<Variant, string>> = {
  regex:
    'A regular expression of at most 200 characters, without case: it is looked for in names, descriptions and arguments of tools.',
  bm25: 'What the tool is to do, in words.',
}

export function createToolSearchTool(): ServerTool {
  return {
    name: 'tool_search',
    prepare({ parameters: { variant, max_results: most } }) {
      return preparedFor(
        variant === 'bm25' ? 'bm25' : 'regex',
        typeof most === 'number' ? most : DEFAULT_RESULTS,
      )
    },
  }
}

function preparedFor(variant: Variant, mostResults: number): PreparedTool {
  const offered: ToolFunction = {
    name: 'tool_search',
    description: 'Finds further tools. Those that it finds can be called from the next step on.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', description: QUERIES[variant] } },
      required: ['query'],
    },
  }
  return {
    functions: [offered],
    backend: variant,
    fee: () => 0,
    run: ({ arguments: { query } }: ToolCallInput, run) =>
      typeof query === 'string' && query !== ''
        ? search(variant, query, mostResults, run)
        : Promise.resolve(failed('query must be a text')),
  }
}

async function search(variant: Variant, query: string, most: number, run: ToolRun): Promise<ToolOutcome> {
  const { deferred = [], signal } = run
  const texts = deferred.map(searchedText)
  if (variant === 'bm25') return toldTools(rankByWords(query, texts), deferred, most)
  const matched = await findByPattern(query, texts, signal)
  return 'error' in matched
    ? failed(`the pattern ${matched.error}`)
    : toldTools(matched.found, deferred, most)
}

function toldTools(found: readonly number[], deferred: readonly ToolFunction[], most: number): ToolOutcome {
  const tool_references = found
    .slice(0, most)
    .map((at) => ({ type: 'tool_reference', tool_name: deferred[at]!.name }))
  return { content: { tool_references }, isError: false, executed: true, charged: 0 }
}

function failed(error: string): ToolOutcome {
  return { content: { error }, isError: true, executed: true, charged: 0 }
}
