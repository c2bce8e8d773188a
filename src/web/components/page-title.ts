import { useEffect } from 'preact/hooks'

/** Names the page in the browser, and for screen readers after a navigation. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Branchline`
  }, [title])
}
