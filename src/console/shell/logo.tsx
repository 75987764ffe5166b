export function Logo() {
  return (
    <span class="logo">
      <svg viewBox="0 0 16 16" aria-hidden="true" focusable="false">
        <rect width="16" height="16" rx="4" />
        <path d="M3.5 6c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0M3.5 10c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0" />
      </svg>
      Sluice
    </span>
  )
}
