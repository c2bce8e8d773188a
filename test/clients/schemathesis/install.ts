import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheFolder } from '../../../scripts/setup/addon-cache.mjs'

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')

/** Long enough for a slow network, and short enough for a network that answers nothing. */
const INSTALLATION_LIMIT_MS = 180_000

/** A program, or the reason why it is missing. */
export type Installed = { readonly program: string } | { readonly missing: string }

/**
 * Installs Schemathesis into a virtual environment beside the compiled addons, which all clones of a
 * user share, unless it is there.
 *
 * @param version its version in requirements.txt
 */
export function installSchemathesis(version: string): Installed {
  const python = spawnSync('python3', ['-c', 'import sys, venv; print(*sys.version_info[:2])'])
  const [major = 0, minor = 0] = String(python.stdout ?? '')
    .split(' ')
    .map(Number)
  if (python.status !== 0 || major !== 3 || minor < 10) return { missing: 'no Python 3.10' }
  const place = join(dirname(cacheFolder()), `schemathesis-${version}-python-3.${minor}`)
  const program = join(place, 'bin', 'schemathesis')
  if (existsSync(program)) return { program }
  // The name of the folder is in its files, so that only a link can put it into its place at once.
  const draft = `${place}.${process.pid}`
  mkdirSync(dirname(place), { recursive: true })
  const steps: [command: string, ...args: string[]][] = [
    ['python3', '-m', 'venv', draft],
    [join(draft, 'bin', 'pip'), 'install', '--quiet', '--no-input', '-r', REQUIREMENTS],
  ]
  for (const [command, ...args] of steps) {
    const { status } = spawnSync(command, args, { timeout: INSTALLATION_LIMIT_MS })
    if (status !== 0) {
      rmSync(draft, { recursive: true, force: true })
      return { missing: 'it cannot be installed' }
    }
  }
  try {
    symlinkSync(draft, place)
  } catch {
    // Another process was faster.
    rmSync(draft, { recursive: true, force: true })
  }
  return { program }
}
