/** Which configuration the workers have, and its reload. */
import { useState } from 'preact/hooks'
import { call, type Problem } from '../../api/call.ts'
import type { Resource } from '../../api/resource.ts'
import { Note } from '../../kit/note.tsx'
import { Facts, ProblemNote, Section } from '../../kit/page.tsx'
import { State, Time } from '../../kit/values.tsx'
import { tell } from '../../shell/toasts.tsx'
import { CONFIGURATION, type Configuration } from './wire.ts'

interface RunningConfigurationProps {
  readonly of: Resource<{ data: Configuration }>
  readonly title?: string
}

export function RunningConfiguration({ of, title = 'Configuration' }: RunningConfigurationProps) {
  const { data, problem, reload, put } = of
  const [refusal, setRefusal] = useState<Problem | null>(null)
  const [isBusy, setBusy] = useState(false)
  const readAgain = async (): Promise<void> => {
    setBusy(true)
    const outcome = await call<{ data: Configuration }>('POST', `${CONFIGURATION}/reload`)
    setBusy(false)
    setRefusal(outcome.ok ? null : outcome.problem)
    // A refused file is told with its faults by the configuration itself.
    if (!outcome.ok) return reload()
    put(outcome.data)
    if (outcome.data.data.file) tell('Read again')
  }
  return (
    <Section
      title={title}
      lead="Providers, models, tools and permissions are read again without a restart, as SIGHUP does. A file with faults changes nothing."
      actions={
        <button type="button" disabled={isBusy} onClick={() => void readAgain()}>
          {isBusy ? 'Reading…' : 'Reload'}
        </button>
      }
    >
      <ProblemNote problem={problem} retry={reload} />
      <ProblemNote problem={refusal} />
      {data === undefined ? null : <Facts rows={factsOf(data.data)} />}
      <LastReload of={data?.data.last_reload ?? null} />
    </Section>
  )
}

function factsOf(configuration: Configuration) {
  const { version, loaded_at, file, workers } = configuration
  const behind = workers.filter((each) => each.version !== version)
  const state =
    behind.length === 0 ? (
      <State is="good">{`all ${workers.length} have it`}</State>
    ) : (
      <State is="attention">{`not yet: ${behind.map(({ worker }) => worker).join(', ')}`}</State>
    )
  return {
    File: file === null ? 'none: SLUICE_CONFIG was not set at the start' : <code>{file}</code>,
    Version: <code>{version}</code>,
    Loaded: <Time at={loaded_at} />,
    Workers: state,
  }
}

function LastReload({ of }: { of: Configuration['last_reload'] }) {
  if (of === null) return null
  const { at, taken, faults, needs_restart } = of
  if (taken && needs_restart.length === 0) return null
  return (
    <Note is={taken ? 'attention' : 'bad'}>
      {taken ? (
        <p>Changed, and counting from the next start on: {needs_restart.join(', ')}</p>
      ) : (
        <>
          <p>
            Refused <Time at={at} />; what ran goes on.
          </p>
          <ul>
            {faults.map(({ source, problem }) => (
              <li key={`${source} ${problem}`}>
                <code>{source}</code>: {problem}
              </li>
            ))}
          </ul>
        </>
      )}
    </Note>
  )
}
