/** What a model costs: by tokens, or by what else it is paid. */
import { Money } from '../../kit/values.tsx'
import { type Pricing, perMillion } from './wire.ts'

/** Prices besides those of tokens: of a call, and where tokens cost nothing of whatever is paid in their place. */
export function otherPrices(pricing: Pricing): readonly (readonly [unit: string, dollars: number])[] {
  const isByTokens = Number(pricing.prompt) > 0 || Number(pricing.completion) > 0
  return Object.entries(pricing)
    .filter(([name, dollars]) => Number(dollars) > 0 && (name === 'request' || !isByTokens))
    .map(([name, dollars]) => [name.replaceAll('_', ' '), Number(dollars)] as const)
}

/** Dollars for a million tokens of a prompt, and in lines beneath what is paid besides. */
export function PromptPrice({ of }: { of: Pricing }) {
  const others = otherPrices(of)
  return (
    <span class="two-lines">
      {(others.length === 0 || Number(of.prompt) > 0) && <Money dollars={perMillion(of.prompt)} />}
      {others.map(([unit, dollars]) => (
        <span key={unit}>
          <Money dollars={dollars} />
          <span class="unit"> / {unit}</span>
        </span>
      ))}
    </span>
  )
}
