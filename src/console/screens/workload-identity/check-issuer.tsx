/** Whether the keys of an issuer can be had now, and which there are. */
import { useEffect, useState } from 'preact/hooks'
import { call, type Problem } from '../../api/call.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Note } from '../../kit/note.tsx'
import { Facts, ProblemNote } from '../../kit/page.tsx'
import { Count } from '../../kit/values.tsx'
import { type Issuer, type IssuerCheck, issuerPath } from './wire.ts'

interface CheckIssuerProps {
  readonly of: Issuer
  readonly close: () => void
  /** Goes on to a policy for its tokens. */
  readonly next: () => void
}

export function CheckIssuer({ of: { id, name }, close, next }: CheckIssuerProps) {
  const [check, setCheck] = useState<IssuerCheck | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [round, setRound] = useState(0)
  useEffect(() => {
    const leaving = new AbortController()
    const options = { signal: leaving.signal }
    void call<{ data: IssuerCheck }>('POST', `${issuerPath(id)}/check`, options).then((outcome) => {
      setProblem(outcome.ok ? null : outcome.problem)
      setCheck(outcome.ok ? outcome.data.data : null)
    })
    return () => leaving.abort()
  }, [id, round])
  return (
    <Dialog title={`Keys of ${name}`} close={close}>
      <div class="stack" role="status">
        <ProblemNote problem={problem} />
        {problem === null && check === null && <p class="soft">Asking the issuer…</p>}
        {check && <Found of={check} />}
      </div>
      <div class="form-actions">
        <button
          type="button"
          disabled={check === null && problem === null}
          onClick={() => setRound(round + 1)}
        >
          Look again
        </button>
        <button type="button" class="primary" onClick={next}>
          Create a policy
        </button>
      </div>
    </Dialog>
  )
}

function Found({ of: { ok, reason, checked_ago_s, jwks_url, keys, total_keys } }: { of: IssuerCheck }) {
  const ago = checked_ago_s < 1 ? 'just now' : `${Math.round(checked_ago_s)} s ago`
  return (
    <>
      <Note is={ok ? 'good' : 'bad'}>
        {ok ? `Its key set was found, ${ago}.` : `Its key set was not found, ${ago}: ${reason}.`}
      </Note>
      <Facts
        rows={{
          'Key set': jwks_url && <code>{jwks_url}</code>,
          'Of use': jwks_url && (
            <span>
              <Count value={keys.length} /> of <Count value={total_keys} />
            </span>
          ),
        }}
      />
      {keys.length > 0 && (
        <ul class="issuer-keys">
          {keys.map(({ kid, alg }, at) => (
            <li key={at}>
              <code>{kid ?? 'without a name'}</code>
              <span class="soft">{alg}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
