/** What a request wishes of its route, as a form; whatever else the request has stays in it. */

import { Check, Select } from '../../kit/fields.tsx'
import { Field, textIn } from '../../kit/form.tsx'

type Wish = Readonly<Record<string, unknown>>

const SORTS = [
  ['', 'Price, by a draw'],
  ['price', 'Price'],
  ['latency', 'Latency'],
  ['throughput', 'Speed'],
  ['context', 'Context'],
] as const

const LISTS = [
  ['order', 'Providers in this order', 'slugs or tags, with commas'],
  ['only', 'Only these', ''],
  ['ignore', 'None of these', ''],
] as const

interface WishesProps {
  readonly request: Wish
  readonly ask: (request: Wish) => void
}

export function Wishes({ request, ask }: WishesProps) {
  const provider = objectIn(request.provider)
  const listed = (name: string): string => (Array.isArray(provider[name]) ? provider[name].join(', ') : '')
  const sort = typeof provider.sort === 'string' ? provider.sort : ''
  return (
    <form
      class="wishes"
      onSubmit={(event) => {
        event.preventDefault()
        ask(patched(request, changesOf(new FormData(event.currentTarget))))
      }}
    >
      <Select label="Tried first by" name="sort" value={sort} options={SORTS} />
      {LISTS.map(([name, label, hint]) => (
        <Field
          key={name}
          label={label}
          name={name}
          isOptional
          defaultValue={listed(name)}
          {...(hint !== '' && { hint })}
        />
      ))}
      <Field
        label="Most for a million tokens in"
        name="max_prompt"
        type="number"
        min="0"
        step="any"
        unit="$"
        isOptional
        defaultValue={textOf(objectIn(provider.max_price).prompt)}
      />
      <Check label="Nobody who collects data" name="deny" checked={provider.data_collection === 'deny'} />
      <Check label="Nobody who keeps data" name="zdr" checked={provider.zdr === true} />
      <Check label="With tools" name="tools" checked={Array.isArray(request.tools)} />
      <Check label="No second endpoint" name="alone" checked={provider.allow_fallbacks === false} />
      <button type="submit" class="primary">
        Explain
      </button>
    </form>
  )
}

const A_TOOL = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]

/** A merge patch: what is empty goes. */
function changesOf(fields: FormData): Wish {
  const list = (name: string): readonly string[] | null => {
    const names = textIn(fields, name)
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '')
    return names.length === 0 ? null : names
  }
  const price = textIn(fields, 'max_prompt')
  return {
    tools: fields.has('tools') ? A_TOOL : null,
    provider: {
      sort: textIn(fields, 'sort') || null,
      ...Object.fromEntries(LISTS.map(([name]) => [name, list(name)])),
      max_price: price === '' ? null : { prompt: Number(price) },
      data_collection: fields.has('deny') ? 'deny' : null,
      zdr: fields.has('zdr') || null,
      allow_fallbacks: fields.has('alone') ? false : null,
    },
  }
}

/** The request of an address; null where there is none that could be asked. */
export function wishesIn(text: string | null): Wish | null {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** A merge patch on a request (RFC 7396); objects that have become empty go. */
export function patched(value: unknown, patch: Wish): Wish {
  const made: Record<string, unknown> = { ...objectIn(value) }
  for (const [name, change] of Object.entries(patch)) {
    const inner = isObject(change) ? patched(made[name], change) : change
    const isNothing = inner === null || (isObject(inner) && Object.keys(inner).length === 0)
    if (isNothing) delete made[name]
    else made[name] = inner
  }
  return made
}

function isObject(value: unknown): value is Wish {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectIn(value: unknown): Wish {
  return isObject(value) ? value : {}
}

function textOf(value: unknown): string {
  return typeof value === 'number' || typeof value === 'string' ? String(value) : ''
}
