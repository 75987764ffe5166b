/** `response-healing`: an answer that was to be JSON and is broken is mended, or told to be broken (contract/tools 4.3). */
import { parseJson } from '../../formats/json-values.js'
import type { AnswerChange, FinalAnswer, Plugin, PluginRun } from '../port/plugin.js'
import { closingTail } from './close-tail.js'
import { isWanted, type WantedJson, wantedJson } from './wanted-json.js'

/**
 * What a text may have been meant to be, as JSON, the likeliest first; none where nobody had the time to look for it.
 * Never rejects.
 */
export type RepairJson = (text: string, run: PluginRun) => Promise<readonly string[]>

/** Ends of an answer that said what it wanted, or that was cut short while it did, in the words of both formats. */
const MENDED_FINISHES: ReadonlySet<string> = new Set([
  ...['stop', 'length'],
  ...['end_turn', 'stop_sequence', 'max_tokens', 'model_context_window_exceeded'],
])

/** Longer answers are left as they are. */
const LONGEST = 1024 * 1024
/** Where more than the end is missing, the time to mend may grow with the square of the length. */
const LONGEST_REPAIR = 100_000

export function createResponseHealing(repair: RepairJson): Plugin {
  return {
    id: 'response-healing',
    prepare: (_, { request }) => {
      const wanted = wantedJson(request)
      return wanted === null ? {} : { after: (answer, run) => heal(wanted, answer, run, repair) }
    },
  }
}

async function heal(
  wanted: WantedJson,
  { text, finish, isStreamed }: FinalAnswer,
  run: PluginRun,
  repair: RepairJson,
): Promise<AnswerChange> {
  const isMended = MENDED_FINISHES.has(finish) && text.trim() !== '' && text.length <= LONGEST
  if (!isMended || parseJson(text) !== undefined) return {}
  const fits = (json: string): boolean => isWanted(wanted, parseJson(json))
  const tail = closingTail(text)
  if (tail !== null && fits(text + tail)) {
    const healed = told('healed: its end was missing', true)
    return isStreamed ? { append: tail, ...healed } : { text: text + tail, ...healed }
  }
  if (isStreamed) return told('not healed: more than its end is broken, and it has been sent')
  if (text.length > LONGEST_REPAIR) return told('not healed: it is too long')
  const candidates = await repair(text, run)
  const mended = candidates.find(fits)
  if (mended !== undefined) return { text: mended, ...told('healed: it was broken JSON', true) }
  return told(
    `not healed: ${candidates.length === 0 ? 'it is no JSON' : 'mended, it is not what the request wants'}`,
  )
}

function told(what: string, healed = false): AnswerChange {
  const summary = `The answer was ${what}`
  return { pipeline: { type: 'response_healing', name: 'response-healing', summary, data: { healed } } }
}
