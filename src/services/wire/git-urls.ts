import type { App } from '../../domain/app.ts'
import type { OpenRepository } from '../../domain/repos/access/permissions.ts'

/** The URLs of what is in a repository. */
export interface GitUrls {
  /** Over REST. */
  readonly api: (path: string) => string
  /** For people, and for what they download. */
  readonly html: (path: string) => string
}

/** The URLs of what is in a repository; paths begin with a slash and are encoded already. */
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

/** A path or a ref as part of the path of a URL: its slashes stay. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
