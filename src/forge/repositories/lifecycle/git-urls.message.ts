import type { App } from '../../app.ts'
import type { OpenRepository } from '../access/permissions.ts'

/** Builds the URLs of a repository's content. */
export interface GitUrls {
  /** For REST. */
  readonly api: (path: string) => string
  /** For browsers. */
  readonly html: (path: string) => string
}

/** Returns the URL builders of a repository. Paths begin with a slash and are already encoded. */
export function gitUrls(
  app: App,
  { owner, repository }: Pick<OpenRepository, 'owner' | 'repository'>,
): GitUrls {
  const base = app.publicUrl()
  const name = `${owner.name}/${repository.name}`
  return {
    api: (path) => `${base}/api/v1/repos/${name}${path}`,
    html: (path) => `${base}/${name}${path}`,
  }
}

/** Encodes a path or ref for a URL path. Slashes stay. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
