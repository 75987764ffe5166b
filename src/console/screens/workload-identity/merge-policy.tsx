/** Two admins on one policy: what the other has saved beside what is to be saved, and one policy of both. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Form } from '../../kit/form.tsx'
import { changedBy, linesAgainst } from '../../kit/merge.ts'
import { Note } from '../../kit/note.tsx'
import { bodyOf, type Policy, policyPath, type Rules, rulesOf, type Versioned } from './wire.ts'

const FIELDS = [
  ['issuer_id', 'Issuer'],
  ['api_key_hash', 'Acts as the key'],
  ['audience', 'Audience'],
  ['subject', 'Subject'],
  ['condition', 'Condition'],
  ['scopes', 'Scope'],
  ['token_type', 'Token type'],
] as const
type RuleName = (typeof FIELDS)[number][0]

/** What is to be saved, and what stands there. */
export interface Clash {
  readonly base: Policy
  readonly theirs: Versioned<Policy>
  readonly mine: Rules
}

interface MergeProps {
  readonly clash: Clash
  readonly close: () => void
  readonly done: (saved: Saved) => void
}

export type Saved = { readonly saved: Versioned<Policy> } | { readonly clash: Clash }

/**
 * Saves rules where the policy is still the one that was looked at; otherwise tells what it has become. Nothing is lost
 * either way: what the other has saved stands, and what was to be saved is still here.
 */
export async function saveRules(base: Policy, etag: string | null, rules: Rules) {
  const path = policyPath(base.id)
  const outcome = await call<{ data: Policy }>('PATCH', path, { body: bodyOf(rules), ifMatch: etag })
  if (outcome.ok)
    return { ...outcome, data: { saved: { of: outcome.data.data, etag: outcome.etag } } as Saved }
  if (outcome.problem.status !== 412) return outcome
  const now = await call<{ data: Policy }>('GET', path)
  if (!now.ok) return now
  const clash: Clash = { base, theirs: { of: now.data.data, etag: now.etag }, mine: rules }
  return { ...now, data: { clash } as Saved }
}

export function MergePolicy({ clash, close, done }: MergeProps) {
  const { theirs, mine } = clash
  const [base, other] = [rulesOf(clash.base), rulesOf(theirs.of)]
  const [chosen, setChosen] = useState<Readonly<Partial<Record<RuleName, 'mine' | 'theirs'>>>>({})
  const partyOf = (name: RuleName) => changedBy(base[name], other[name], mine[name])
  const sideOf = (name: RuleName): 'mine' | 'theirs' | undefined => {
    const party = partyOf(name)
    return party === 'both' ? chosen[name] : party === 'mine' ? 'mine' : 'theirs'
  }
  const merged = Object.fromEntries(
    FIELDS.map(([name]) => [name, sideOf(name) === 'mine' ? mine[name] : other[name]]),
  ) as unknown as Rules
  const isOpen = FIELDS.some(([name]) => sideOf(name) === undefined)
  return (
    <Dialog title="Somebody else has changed this policy" close={close} class="wide">
      <Form
        submit="Save both"
        cancel={close}
        isDisabled={isOpen}
        send={() => saveRules(theirs.of, theirs.etag, merged)}
        done={done}
      >
        <Note is="attention">
          What the other has saved is in force. What only one of you has changed is taken over; where both
          have, choose.
        </Note>
        {FIELDS.filter(([name]) => partyOf(name) !== 'nobody').map(([name, title]) => (
          <fieldset key={name} class="merge">
            <legend>{title}</legend>
            <Side
              name={name}
              title="Theirs"
              text={other[name]}
              base={base[name]}
              isTaken={sideOf(name) === 'theirs'}
              isFixed={partyOf(name) !== 'both'}
              take={() => setChosen({ ...chosen, [name]: 'theirs' })}
            />
            <Side
              name={name}
              title="Yours"
              text={mine[name]}
              base={base[name]}
              isTaken={sideOf(name) === 'mine'}
              isFixed={partyOf(name) !== 'both'}
              take={() => setChosen({ ...chosen, [name]: 'mine' })}
            />
          </fieldset>
        ))}
      </Form>
    </Dialog>
  )
}

interface SideProps {
  readonly name: string
  readonly title: string
  readonly text: string | null
  /** Before either had changed it. */
  readonly base: string | null
  readonly isTaken: boolean
  /** Only one side has changed it: there is nothing to choose. */
  readonly isFixed: boolean
  readonly take: () => void
}

function Side({ name, title, text, base, isTaken, isFixed, take }: SideProps) {
  return (
    <label class={isTaken ? 'version taken' : 'version'}>
      <span>
        <input type="radio" name={name} checked={isTaken} disabled={isFixed} onChange={take} /> {title}
      </span>
      {text === null ? (
        <span class="soft">none</span>
      ) : (
        <pre>
          {linesAgainst(text, base ?? '').map(({ line, isNew }, at) =>
            isNew ? <ins key={at}>{`${line}\n`}</ins> : <span key={at}>{`${line}\n`}</span>,
          )}
        </pre>
      )}
    </label>
  )
}
