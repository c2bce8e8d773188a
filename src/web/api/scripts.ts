import { storageOf } from '../components/stored.ts'
import { t } from '../language/texts.tsx'
import { Code, ConnectError } from './calls.ts'
import { inWords } from './network-failure.ts'

/** State that survives a reload of the page. */
const RELOADED = 'branchline-reloaded'

/** A script of the page is not on the server any more, or does not load. */
export class ScriptFailure extends Error {
  /** Whether the server has another version of the pages. */
  readonly isOutdated: boolean

  constructor(isOutdated: boolean, cause: unknown) {
    super(isOutdated ? 'this page is out of date' : 'a part of this page has not loaded', { cause })
    this.isOutdated = isOutdated
  }
}

/**
 * Loads a script of the page.
 *
 * @param load imports the script.
 * @throws ScriptFailure if the server has no such script, or the browser cannot use the script.
 * @throws ConnectError if the server does not answer.
 */
export async function loadScript<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    throw new ScriptFailure(await isOutdated(), error)
  }
}

/** The script of the page that names all others, so that each version has another name. */
function entry(): string {
  return document.querySelector<HTMLScriptElement>('script[type=module]')?.src ?? ''
}

async function isOutdated(): Promise<boolean> {
  try {
    const { status } = await fetch(entry(), { method: 'HEAD', cache: 'no-store' })
    if (status < 500) return status === 404
  } catch (error) {
    throw inWords(error)
  }
  throw new ConnectError(t('the server is not ready'), Code.Unavailable)
}

/**
 * Loads the page anew, unless this has happened for the same version and address: a script that is
 * missing on the server, too, must not reload the page for ever.
 */
export function reloadOnce(): void {
  const storage = storageOf('sessionStorage')
  const version = `${entry()} ${location.href}`
  if (!storage || storage.getItem(RELOADED) === version) return
  storage.setItem(RELOADED, version)
  location.reload()
}

/** Notes that the page has loaded. */
export function endReload(): void {
  storageOf('sessionStorage')?.removeItem(RELOADED)
}
