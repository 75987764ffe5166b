/** What is said in place of something, or before it. */
import type { ComponentChildren } from 'preact'
import { Code } from './code.tsx'
import { Icon } from './icon.tsx'

interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
  /** A command that works as it stands. */
  readonly command?: string
}

/** What stands where nothing is yet. */
export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p class="soft">{children}</p>}
      {command !== undefined && <Code text={command} label="Copy the command" />}
    </div>
  )
}

/** Something to know before going on. */
export function Note({ is, children }: { is: 'good' | 'attention' | 'bad'; children: ComponentChildren }) {
  return (
    <div class={`note ${is}`}>
      <Icon name={is} />
      <div>{children}</div>
    </div>
  )
}
