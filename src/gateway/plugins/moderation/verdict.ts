/** Who says whether words are harmful: an endpoint for moderation, or a model of the catalogue. */
import { asObject, objectsIn } from '../../formats/json-values.js'
import { judgeText } from '../judge/judge.js'
import type { PluginRun } from '../port/plugin.js'

export type Verdict =
  | {
      readonly ok: true
      /** Kinds of harm; none where the words are harmless. */
      readonly reasons: readonly string[]
      /** The words that were flagged. */
      readonly flagged: string
      /** Who has said so, and with which model; null where that is not known. */
      readonly provider: string | null
      readonly model: string | null
    }
  | { readonly ok: false; readonly reason: string }

/** Never rejects. */
export type Moderator = (texts: readonly string[], run: PluginRun) => Promise<Verdict>

/** An answer of `POST /moderations` that has a result for each text; null for any other. */
export function readModeration(
  value: unknown,
  texts: readonly string[],
): Omit<Verdict & { ok: true }, 'provider'> | null {
  const body = asObject(value)
  const results = objectsIn(body?.results)
  if (results.length !== texts.length || results.some(({ flagged }) => typeof flagged !== 'boolean'))
    return null
  const at = results.findIndex(({ flagged }) => flagged === true)
  const model = typeof body?.model === 'string' ? body.model : null
  if (at < 0) return { ok: true, reasons: [], flagged: '', model }
  const categories = Object.entries(asObject(results[at]!.categories) ?? {})
  const named = categories.filter(([, isOne]) => isOne === true).map(([name]) => name)
  return { ok: true, reasons: named.length > 0 ? named : ['flagged'], flagged: texts[at]!, model }
}

/** What a model is asked to look for; the names are those of the usual endpoints. */
const HARMS = [
  'hate: hatred against people for what they are, such as origin, religion, sex or disability',
  'harassment: harassing, threatening or bullying somebody',
  'self-harm: encouraging or instructing somebody to harm themselves',
  'sexual: content that is meant to arouse sexually',
  'sexual/minors: sexual content with anybody under 18',
  'violence: depicting or encouraging death, violence or injury with pleasure or intent',
  'illicit: instructions or advice for crimes, weapons or drugs',
] as const

const FLAGGED_FROM = 0.5

export function judgeModerator(model: string): Moderator {
  return async (texts, run) => {
    const text = texts.join('\n\n')
    const judged = await judgeText(run, { model, rules: HARMS, text })
    if (!judged.ok) return judged
    const reasons = HARMS.filter((_, at) => judged.scores[at]! >= FLAGGED_FROM).map(
      (harm) => harm.split(':')[0]!,
    )
    return { ok: true, reasons, flagged: text, provider: null, model }
  }
}
