/** The fields of limits, for new keys and for those that are there. */

import { Check, numberIn, Select } from '../../kit/fields.tsx'
import { Field, textIn } from '../../kit/form.tsx'
import type { Key, LimitReset } from './wire.ts'

type Limits = Pick<Key, 'limit' | 'limit_reset' | 'rate_limit' | 'include_byok_in_limit'>

const PERIODS = [
  ['', 'Never'],
  ['daily', 'Daily'],
  ['weekly', 'Weekly'],
  ['monthly', 'Monthly'],
] as const

/** The defaults are those of a key without limits. */
export function LimitFields({ of }: { of?: Limits }) {
  const { requests_per_minute, tokens_per_minute, concurrent } = of?.rate_limit ?? {}
  return (
    <>
      <div class="fields">
        <Field
          label="Spending limit"
          name="limit"
          type="number"
          min="0"
          step="any"
          unit="$"
          isOptional
          defaultValue={of?.limit ?? ''}
        />
        <Select
          label="Starts anew (UTC)"
          name="limit_reset"
          value={of?.limit_reset ?? ''}
          options={PERIODS}
        />
      </div>
      <Check
        label="Count calls on your own provider keys as well"
        name="include_byok_in_limit"
        defaultChecked={of?.include_byok_in_limit ?? false}
      />
      <div class="fields">
        <Field
          {...WHOLE}
          label="Requests a minute"
          name="requests_per_minute"
          defaultValue={requests_per_minute ?? ''}
        />
        <Field
          {...WHOLE}
          label="Tokens a minute"
          name="tokens_per_minute"
          defaultValue={tokens_per_minute ?? ''}
        />
        <Field {...WHOLE} label="Calls at a time" name="concurrent" defaultValue={concurrent ?? ''} />
      </div>
    </>
  )
}

const WHOLE = { type: 'number', min: '1', step: '1', isOptional: true } as const

/** What the fields say, as the API takes it. */
export function limitsIn(fields: FormData): Limits {
  const rates = {
    requests_per_minute: numberIn(fields, 'requests_per_minute'),
    tokens_per_minute: numberIn(fields, 'tokens_per_minute'),
    concurrent: numberIn(fields, 'concurrent'),
  }
  const limit = numberIn(fields, 'limit')
  return {
    limit,
    limit_reset: limit === null ? null : (textIn(fields, 'limit_reset') as LimitReset) || null,
    include_byok_in_limit: fields.has('include_byok_in_limit'),
    rate_limit: Object.values(rates).every((rate) => rate === null) ? null : rates,
  }
}
