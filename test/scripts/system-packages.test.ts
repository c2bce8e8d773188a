import { describe, expect, it } from 'vitest'
import { aptCommand, planPackages } from '../../scripts/setup/system-packages.mjs'

const required = [
  { name: 'make', command: 'make' },
  { name: 'libssl-dev', header: '/usr/include/openssl/ssl.h' },
]
const optional = [{ name: 'chromium', command: 'chromium' }]

describe('aptCommand', () => {
  it('is one line that can be pasted', () => {
    expect(aptCommand(['g++', 'make'])).toBe(
      'sudo apt-get update && sudo apt-get install -y --no-install-recommends g++ make',
    )
  })
})

describe('the plan for missing system packages', () => {
  it('is to install them as root on Debian', () => {
    const plan = planPackages({ required, optional, hasApt: true, isRoot: true })
    expect(plan).toEqual({ install: ['make', 'libssl-dev'], installOptional: ['chromium'] })
  })

  it('is to stop with one command for all of them as anyone else on Debian', () => {
    const plan = planPackages({ required, optional, hasApt: true, isRoot: false })
    expect(plan).toEqual({ stop: expect.stringContaining(aptCommand(['make', 'libssl-dev', 'chromium'])) })
  })

  it('is to stop with their names where there is no apt-get, leaving out headers, which lie elsewhere there', () => {
    const plan = planPackages({ required, optional, hasApt: false, isRoot: true })
    expect(plan).toEqual({ stop: expect.stringMatching(/^make missing/) })
  })

  it('is to go on without optional packages where there is no apt-get', () => {
    const plan = planPackages({ required: [], optional, hasApt: false, isRoot: false })
    expect(plan).toEqual({ install: [], installOptional: [] })
  })
})
