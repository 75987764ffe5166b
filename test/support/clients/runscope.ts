/** Runs a suite in the format of Runscope: requests one after the other, what they assert, and what they remember. */
import { strict as assert } from 'node:assert'
import { runInNewContext } from 'node:vm'

/** Whatever an answer holds at a path. */
type Found = unknown

interface Source {
  readonly source: string
  readonly property?: string
}

interface Assertion extends Source {
  readonly comparison: string
  readonly value: string | null
}

interface Step {
  readonly step_type: string
  readonly note?: string
  readonly skipped?: boolean
  readonly method: string
  readonly url: string
  readonly body?: string
  readonly headers: Readonly<Record<string, readonly string[]>>
  readonly assertions: readonly Assertion[]
  readonly variables: readonly (Source & { readonly name: string })[]
  readonly scripts: readonly string[]
}

interface RunscopeSuite {
  readonly steps: readonly Step[]
}

/** What came of one assertion or script; `fault` is null when it holds. */
interface RunscopeOutcome {
  readonly step: string
  readonly what: string
  readonly fault: string | null
}

const COMPARISONS: Readonly<Record<string, (found: Found, wanted: string) => boolean>> = {
  equal: (found, wanted) => String(found) === wanted,
  equal_number: (found, wanted) => Number(found) === Number(wanted),
  is_a_number: (found) => typeof found === 'number',
  is_less_than: (found, wanted) => Number(found) < Number(wanted),
  not_empty: (found) => found !== undefined && found !== null && found !== '' && !isEmptyList(found),
  has_value: (found, wanted) => Array.isArray(found) && found.includes(wanted),
  contains: (found, wanted) =>
    Array.isArray(found) ? found.includes(wanted) : String(found).includes(wanted),
}

const isEmptyList = (found: Found): boolean => Array.isArray(found) && found.length === 0

/** A member of a value by a path such as `Resources[0].name.familyName`. */
function valueAt(value: unknown, path: string): Found {
  const names = path.split(/[.[\]]+/).filter((name) => name !== '')
  return names.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], value)
}

/**
 * Runs all steps with `variables` for what stands in `{{…}}`, without the pauses between them. Assertions whose source
 * is in `leftOut` are not looked at. Throws on a kind of step, source or comparison that it does not know.
 */
export async function* runSuite(
  { steps }: RunscopeSuite,
  variables: Readonly<Record<string, string>>,
  leftOut: ReadonlySet<string>,
): AsyncGenerator<RunscopeOutcome> {
  const known = new Map(Object.entries(variables))
  const fill = (text: string): string =>
    text.replace(/\{\{(\w+)\}\}/g, (_, name) => known.get(name) ?? unknown('variable', name))
  for (const step of steps) {
    if (step.step_type === 'pause' || step.skipped === true) continue
    if (step.step_type !== 'request') unknown('kind of step', step.step_type)
    const { note = step.url } = step
    const answer = await ask(step, fill)
    const read = ({ source, property = '' }: Source): Found => {
      if (source === 'response_status') return answer.status
      if (source === 'response_json') return valueAt(answer.json(), property)
      return unknown('source', source)
    }
    for (const { comparison, value, ...source } of step.assertions) {
      if (leftOut.has(source.source)) continue
      const compare = COMPARISONS[comparison] ?? unknown('comparison', comparison)
      const found = read(source)
      const what = `${source.property ?? source.source} ${comparison} ${value ?? ''}`
      const holds = compare(found, fill(value ?? ''))
      yield { step: note, what, fault: holds ? null : `${JSON.stringify(found)} in ${answer.text}` }
    }
    for (const script of step.scripts) {
      if (script !== '') yield { step: note, what: 'its script', fault: faultOf(script, answer) }
    }
    for (const { name, ...source } of step.variables) known.set(name, String(read(source)))
  }
}

interface Answer {
  readonly status: number
  readonly text: string
  json(): unknown
}

async function ask({ method, url, body, headers }: Step, fill: (text: string) => string): Promise<Answer> {
  const response = await fetch(fill(url), {
    method,
    headers: Object.entries(headers).map(([name, [value = '']]) => [name, fill(value)] as [string, string]),
    ...(body !== undefined && { body: fill(body) }),
  })
  const text = await response.text()
  return { status: response.status, text, json: () => JSON.parse(text) }
}

/** A script asserts with `assert` and looks at `response.body`. */
function faultOf(script: string, { status, text }: Answer): string | null {
  try {
    runInNewContext(script, { assert, response: { body: text, status }, log: () => {} }, { timeout: 1_000 })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

function unknown(what: string, name: string): never {
  throw new Error(`the suite has a ${what} that is not known here: ${name}`)
}
