# What Scrapy 2.18 left is gone when 2.13 was started on it once, for 2.18 as well.
cd "$(mktemp -d)"
for release in 2.18.0 2.13.4; do python3 -m venv $release && $release/bin/pip install --quiet scrapy==$release 'twisted<26'; done
cat > spider.py <<'END'
import scrapy
class Spider(scrapy.Spider):
    name = "example"
    async def start(self):
        for number in range(99):
            yield scrapy.Request(f"data:,{number}", meta={"download_slot": "example.com"})
    def parse(self, response):
        print(response.url)
END
run() { echo "Scrapy $1: $($1/bin/scrapy runspider spider.py --nolog -s JOBDIR=job $2 | wc -l) of 99 pages"; }
run 2.18.0 "-s CLOSESPIDER_PAGECOUNT=5"
run 2.13.4
run 2.18.0
# Scrapy 2.18.0: 6 of 99 pages
# Scrapy 2.13.4: 0 of 99 pages
# Scrapy 2.18.0: 0 of 99 pages
