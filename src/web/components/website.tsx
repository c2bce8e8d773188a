import type { VNode } from 'preact'

/** A link to the website that somebody has named. The address says nothing about this server. */
export function Website({ url }: { url: string }): VNode | null {
  if (!/^https?:/.test(url)) return null
  return (
    <p>
      <a href={url} rel="nofollow noopener noreferrer">
        {url}
      </a>
    </p>
  )
}
