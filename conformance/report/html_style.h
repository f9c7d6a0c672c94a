// The style sheet of the page, light and dark.
#ifndef REPRISE_CONFORMANCE_REPORT_HTML_STYLE_H_
#define REPRISE_CONFORMANCE_REPORT_HTML_STYLE_H_

namespace reprise::conformance {

inline constexpr char kStyle[] = R"css(
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b2027;--soft:#5b6572;--line:#dfe3e8;
--pass:#1a7f47;--pass-bg:#e3f4ea;--fail:#c2281f;--fail-bg:#fcebe9;--warn:#9a6700;--warn-bg:#fdf3d7;
--mute:#6a7380;--mute-bg:#eceff2;--base:#b4bcc6;--a1:#2563c9;--a2:#0f9488;--a3:#8b46c7;--a4:#c2570c;--a5:#b02a6b;--code:#f1f3f6}
@media (prefers-color-scheme:dark){:root{--bg:#12151a;--card:#1a1f26;--ink:#e6e9ed;--soft:#98a3b0;--line:#2c333c;
--pass:#5fcf8e;--pass-bg:#173524;--fail:#ff8379;--fail-bg:#40201e;--warn:#e8c061;--warn-bg:#3a2f14;
--mute:#98a3b0;--mute-bg:#262c34;--base:#59626e;--a1:#74a8ff;--a2:#4fd1c5;--a3:#c79bf2;--a4:#f5a264;--a5:#f08fbb;--code:#22282f}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}
header{border-radius:14px;padding:24px 28px;background:var(--card);border:1px solid var(--line);border-left:8px solid var(--tone)}
header.pass{--tone:var(--pass)}header.fail{--tone:var(--fail)}
.eyebrow{color:var(--soft);font-size:13px;margin:0 0 2px}
h1{font-size:26px;line-height:1.25;margin:0 0 8px;letter-spacing:-.01em}
h1 b{color:var(--tone)}
header p{margin:0 0 10px;max-width:70ch}
h2{font-size:18px;margin:34px 0 10px}
h2 small{font-weight:400;color:var(--soft);font-size:14px;margin-left:8px}
h3{font-size:15px;margin:18px 0 6px}
.chips{display:flex;flex-wrap:wrap;gap:8px;margin:10px 0 0;padding:0;list-style:none}
.badge{display:inline-block;border-radius:6px;padding:1px 8px;font-size:12px;font-weight:650;letter-spacing:.02em;white-space:nowrap;color:var(--mute);background:var(--mute-bg)}
.badge.pass{color:var(--pass);background:var(--pass-bg)}.badge.fail{color:var(--fail);background:var(--fail-bg)}.badge.warn{color:var(--warn);background:var(--warn-bg)}
code,.name{font-family:ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace;font-size:13px}
.name{font-weight:650}
.lost{margin:14px 0 0;padding:0;list-style:none;display:grid;grid-template-columns:minmax(0,1fr);gap:6px}
.lost .name{white-space:normal;overflow-wrap:anywhere}
.lost li{display:flex;flex-wrap:wrap;gap:4px 12px;align-items:baseline}
.lost span{color:var(--soft)}
.matrix{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px}
th{text-align:left;font-weight:600;color:var(--soft);font-size:12.5px;padding:6px 10px;border-bottom:1px solid var(--line);white-space:nowrap}
td{padding:6px 10px;border-bottom:1px solid var(--line);vertical-align:top}
td.num,th.num{text-align:right;font-variant-numeric:tabular-nums}
td.key{white-space:nowrap}
tr:last-child td{border-bottom:0}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;overflow:hidden}
details.case{border-bottom:1px solid var(--line)}
details.case:last-child{border-bottom:0}
details.case>summary{display:grid;grid-template-columns:124px minmax(170px,250px) 1fr auto;gap:12px;align-items:baseline;padding:9px 16px;cursor:pointer;list-style:none}
details.case>summary::-webkit-details-marker{display:none}
details.case>summary:hover{background:var(--mute-bg)}
details.case>summary::after{content:"\25B8";color:var(--soft);font-size:11px;transition:transform .15s}
details.case[open]>summary::after{transform:rotate(90deg)}
.case-name{font-weight:600;overflow-wrap:anywhere}
.said{color:var(--soft);overflow-wrap:anywhere}
.said .name{color:var(--fail)}
.body{padding:2px 16px 18px}
.body>p{margin:6px 0;color:var(--soft);max-width:80ch}
.finding{border:1px solid var(--line);border-left:4px solid var(--fail);border-radius:8px;padding:10px 14px;margin:10px 0}
.finding p{margin:4px 0;max-width:85ch}
.finding .name{color:var(--fail);font-size:14px}
.finding .where{color:var(--soft);font-size:13px}
.finding .evidence{overflow-wrap:anywhere}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:12.5px;color:var(--soft);margin:10px 0 2px}
.legend i{display:inline-block;width:20px;height:0;border-top:3px solid;vertical-align:middle;margin-right:6px;border-radius:2px}
.legend i.dash{border-top:2px dashed}
svg.strip{display:block;width:100%;height:auto;padding:8px 0 2px;border-bottom:1px solid var(--line)}
svg.strip .pass{fill:var(--pass)}svg.strip .fail{fill:var(--fail)}svg.strip .warn{fill:var(--warn)}svg.strip .mute{fill:var(--mute)}
.pair{display:grid;grid-template-columns:2fr 1fr;gap:10px}
svg.plot{display:block;width:100%;height:auto;background:var(--card);border:1px solid var(--line);border-radius:8px;margin:8px 0}
.curve{fill:none;stroke-width:1.6;stroke-linejoin:round}
.baseline{stroke:var(--base);stroke-width:5;stroke-linecap:round;opacity:.8}
.attempt-1{stroke:var(--a1)}.attempt-2{stroke:var(--a2)}.attempt-3{stroke:var(--a3)}.attempt-4{stroke:var(--a4)}.attempt-5{stroke:var(--a5)}
.grid{stroke:var(--line);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}
.tick{fill:var(--soft);font-size:10.5px}.plot-title{fill:var(--ink);font-size:12px;font-weight:650}
.kill{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:4 3}.kill-text{fill:var(--soft);font-size:10.5px}
.divergence{stroke:var(--fail);stroke-width:1.6}.divergence-text{fill:var(--fail);font-size:10.5px;font-weight:650}
.replay{display:block;background:var(--code);border-radius:8px;padding:8px 12px;overflow-wrap:anywhere;user-select:all}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(320px,1fr));gap:0 28px}
footer{color:var(--soft);font-size:13px;margin-top:36px}
@media (max-width:720px){.pair{grid-template-columns:1fr}details.case>summary{grid-template-columns:auto 1fr}.said{grid-column:1/-1}}
)css";

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_HTML_STYLE_H_
