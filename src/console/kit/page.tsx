/** What every screen is built of: its head, sections, facts and problems. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import type { Problem } from '../api/call.ts'
import { Icon } from './icon.tsx'

interface PageProps {
  /** That of the window as well. */
  readonly title: string
  /** Beside the title: states, an id. */
  readonly beside?: ComponentChildren
  /** One sentence beneath the title. */
  readonly lead?: ComponentChildren
  /** The way back up, where it is the page of a record. */
  readonly up?: { readonly href: string; readonly title: string }
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}

/** A screen: its title takes the focus when it opens, so that keyboards and screen readers begin there. */
export function Page({ title, beside, lead, up, actions, children }: PageProps) {
  useLayoutEffect(() => {
    document.title = `${title} · Sluice`
  }, [title])
  return (
    <div class="page">
      <header class="page-head">
        {up && (
          <a class="up" href={up.href}>
            {up.title}
          </a>
        )}
        <div class="page-title">
          <h1 tabIndex={-1}>{title}</h1>
          {beside}
          {actions && <div class="actions">{actions}</div>}
        </div>
        {lead && <p class="lead">{lead}</p>}
      </header>
      {children}
    </div>
  )
}

interface SectionProps {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A part of a screen, with a ground of its own. */
export function Section({ title, lead, actions, children }: SectionProps) {
  return (
    <section class="section">
      <div class="section-head">
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {lead && <p class="soft">{lead}</p>}
      {children}
    </section>
  )
}

/** By their names, in the order of their members. */
type Values = Readonly<Record<string, ComponentChildren>>

/** Names and values of a record; rows without a value are left out. */
export function Facts({ rows }: { rows: Values }) {
  return (
    <dl class="facts">
      {Object.entries(rows)
        .filter(([, value]) => value !== null && value !== undefined && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** Large figures side by side. */
export function Figures({ rows }: { rows: Values }) {
  return (
    <dl class="figures">
      {Object.entries(rows).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface ProblemNoteProps {
  readonly problem: Problem | null | undefined
  readonly retry?: () => void
}

/** Why something could not be shown, in the server's words; nothing where it could. */
export function ProblemNote({ problem, retry }: ProblemNoteProps) {
  if (!problem) return null
  return (
    <div class="note bad" role="alert">
      <Icon name="bad" />
      <div>
        <p>{problem.message}</p>
        {problem.requestId !== '' && <p class="soft small">Request {problem.requestId}</p>}
      </div>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}
