import { test } from 'tap'
import { cpuQuota, usableCores } from '../../src/process/cgroup.js'

const reader = (files: Readonly<Record<string, string>>) => (path: string) => {
  const text = files[path]
  if (text === undefined) throw new Error(`ENOENT: ${path}`)
  return text
}

const QUOTAS: readonly (readonly [string, Readonly<Record<string, string>>, number | null])[] = [
  ['no control group', {}, null],
  ['no quota', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, null],
  ['a container', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '150000 100000\n' }, 1.5],
  [
    'the smallest of the groups above',
    {
      '/proc/self/cgroup': '0::/a.slice/b.service\n',
      '/sys/fs/cgroup/a.slice/b.service/cpu.max': '400000 100000\n',
      '/sys/fs/cgroup/a.slice/cpu.max': '200000 100000\n',
    },
    2,
  ],
  [
    'the first version, under a path of the host',
    {
      '/proc/self/cgroup': '4:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    },
    0.5,
  ],
  [
    'the first version without a quota',
    {
      '/proc/self/cgroup': '4:cpu,cpuacct:/\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    },
    null,
  ],
]

for (const [about, files, quota] of QUOTAS) {
  test(`quota of processors: ${about}`, async (t) => t.equal(cpuQuota(reader(files)), quota))
}

test('a quota leaves whole cores, and one at least', async (t) => {
  t.equal(usableCores(8, null), 8)
  t.equal(usableCores(8, 2.9), 2)
  t.equal(usableCores(8, 0.3), 1)
  t.equal(usableCores(2, 16), 2)
})
